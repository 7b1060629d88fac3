/** A text with one credential in it, and what it is redacted to. */
export interface Sample {
  readonly kind: string;
  /** What stays before the credential; a name, where only a name gives it away. */
  readonly lead: string;
  readonly secret: string;
  /** What stays after it. */
  readonly tail: string;
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const ALNUM = LOWER + UPPER + DIGITS;
const URL64 = `${ALNUM}-_`;
const STD64 = `${ALNUM}+/`;

/** Credentials of every kind, made here and now: written down, they would alarm every secret scanner. */
export function credentialSamples(seed = 1): readonly Sample[] {
  const random = generator(seed);
  const any = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  /** Letters and digits in turn, as random values have them. */
  const mixed = (length: number) =>
    any(ALNUM, length).replace(/.../g, (part) => part.slice(0, 2) + any(DIGITS, 1));
  const samples: Sample[] = [];
  const add = (kind: string, ...secrets: string[]) => {
    for (const secret of secrets) samples.push({ kind, lead: '', secret, tail: '' });
  };
  const behind = (kind: string, lead: string, secret: string, tail = '') =>
    samples.push({ kind, lead, secret, tail });

  add('gateway-key', `hk_${any(URL64, 43)}`, `acp_${any(URL64, 43)}`);
  add('aws-access-key-id', `AKIA${any(UPPER + DIGITS, 16)}`, `ASIA${any(UPPER + DIGITS, 16)}`);
  for (const letter of 'pousr') add('github-token', `gh${letter}_${any(ALNUM, 36)}`);
  add('github-token', `github_pat_${any(ALNUM, 22)}_${any(ALNUM, 59)}`);
  add('gitlab-token', `glpat-${any(URL64, 20)}`, `glrt-${any(URL64, 20)}`, `glptt-${any(HEX, 40)}`);
  add('gitlab-token', `glpat-${any(ALNUM, 27)}.01.${any(LOWER + DIGITS, 9)}`);
  for (const type of ['xoxb', 'xoxp'])
    add('slack-token', `${type}-${any(DIGITS, 12)}-${any(DIGITS, 12)}-${any(ALNUM, 24)}`);
  add('slack-token', `xapp-1-A${any(UPPER, 10)}-${any(DIGITS, 13)}-${any(HEX, 64)}`);
  add('slack-token', `xoxe.xoxp-1-${any(UPPER + DIGITS, 40)}`);
  behind(
    'slack-webhook',
    'https://hooks.slack.com/services/',
    `T${any(UPPER, 9)}/B${any(UPPER, 9)}/${any(ALNUM, 24)}`,
  );
  for (const type of ['sk', 'rk']) add('stripe-key', `${type}_live_${any(ALNUM, 24)}`);
  add('webhook-signing-secret', `whsec_${any(STD64, 43)}=`, `whsec_${any(ALNUM, 32)}`);
  add('anthropic-api-key', `sk-ant-api03-${any(URL64, 93)}AA`);
  add('openrouter-api-key', `sk-or-v1-${any(HEX, 64)}`);
  add('openai-api-key', `sk-${any(ALNUM, 48)}`, `sk-proj-${any(URL64, 120)}`, `sk-svcacct-${any(URL64, 60)}`);
  add('google-api-key', `AIza${any(URL64, 35)}`);
  add('google-oauth', `ya29.${any(URL64, 120)}`, `GOCSPX-${any(URL64, 28)}`);
  add('npm-token', `npm_${any(ALNUM, 36)}`);
  add('pypi-token', `pypi-AgEIcHlwaS5vcmc${any(URL64, 120)}`);
  add('rubygems-token', `rubygems_${any(HEX, 48)}`);
  add('docker-token', `dckr_pat_${any(URL64, 27)}`);
  add('sendgrid-api-key', `SG.${any(URL64, 22)}.${any(URL64, 43)}`);
  add('twilio-key', `SK${any(HEX, 32)}`, `AC${any(HEX, 32)}`);
  add('mailgun-api-key', `key-${any(HEX, 32)}`);
  add('telegram-bot-token', `${1 + Math.floor(random() * 9)}${any(DIGITS, 9)}:AA${any(URL64, 33)}`);
  const user = Buffer.from(`2${any(DIGITS, 17)}`).toString('base64url');
  add('discord-bot-token', `${user}.${any(URL64, 6)}.${any(URL64, 38)}`);
  behind(
    'discord-webhook',
    `https://discord.com/api/webhooks/${any(DIGITS.slice(1), 18)}/`,
    any(URL64, 68),
    '?',
  );
  add('hugging-face-token', `hf_${any(ALNUM, 34)}`);
  add('groq-api-key', `gsk_${any(ALNUM, 52)}`);
  add('perplexity-api-key', `pplx-${any(ALNUM, 48)}`);
  add('replicate-api-token', `r8_${any(ALNUM, 37)}`);
  add('digitalocean-token', `dop_v1_${any(HEX, 64)}`);
  add('cloudflare-token', `cfut_${any(ALNUM, 48)}`);
  add('shopify-token', `shpat_${any(HEX, 32)}`);
  add('databricks-token', `dapi${any(HEX, 32)}`);
  add('vault-token', `hvs.${any(URL64, 95)}`);
  add('grafana-token', `glsa_${any(ALNUM, 32)}_${any(HEX, 8)}`, `glc_${any(STD64, 80)}==`);
  add('linear-api-key', `lin_api_${any(ALNUM, 40)}`);
  add('notion-token', `ntn_${any(DIGITS, 11)}${any(ALNUM, 35)}`);
  add('postman-api-key', `PMAK-${any(HEX, 24)}-${any(HEX, 34)}`);
  add('new-relic-key', `NRAK-${any(UPPER + DIGITS, 27)}`);
  add('atlassian-token', `ATATT3${any(URL64, 180)}=${any(HEX, 8).toUpperCase()}`);
  add('age-secret-key', `AGE-SECRET-KEY-1${any(UPPER + DIGITS, 58)}`);

  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = json({ alg: 'HS256', typ: 'JWT' });
  const claims = json({ sub: any(DIGITS, 10), name: any(LOWER, 12) });
  add('jwt', `${header}.${claims}.${any(URL64, 43)}`, `${json({ alg: 'none' })}.${claims}`);
  add('jwt', `${json({ typ: 'JWT', x5c: [any(ALNUM, 3000)], alg: 'RS256' })}`);
  for (const label of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])
    add(
      'private-key',
      keyBlock(`${label}PRIVATE KEY`, [`MII${any(STD64, 61)}`, any(STD64, 64), any(STD64, 30)]),
    );
  add('private-key', keyBlock('RSA PRIVATE KEY', ['Proc-Type: 4,ENCRYPTED', '', any(STD64, 64)]));
  add('private-key', keyBlock('PGP PRIVATE KEY BLOCK', ['Version: GnuPG v2', '', any(STD64, 64)]));
  add('private-key', keyBlock('PRIVATE KEY', [any(ALNUM, 64), any(STD64, 64)]).replaceAll('\n', '\\n'));
  add(
    'private-key',
    keyBlock('PRIVATE KEY', [any(ALNUM, 64), any(STD64, 64)]).replaceAll('\n', '\\n" +\n  "'),
  );
  behind('url-password', 'postgres://gateway:', mixed(16), '@db.example.com:5432/app');
  behind('url-password', 'redis://:', `p@ss:${mixed(8)}#?`, '@cache:6379');
  behind('url-password', 'amqp://guest:', any(LOWER, 600), ' ');
  behind('authorization-header', 'Authorization: Bearer ', mixed(32));
  behind(
    'authorization-header',
    '"authorization": "Basic ',
    Buffer.from('user:pass').toString('base64'),
    '"',
  );
  behind('bearer-token', 'curl with bearer ', mixed(40));
  behind('aws-secret-access-key', 'aws_secret_access_key = ', any(STD64, 40));
  behind('aws-secret-access-key', '"SecretAccessKey": "', any(STD64, 40), '"');
  behind('azure-key', 'AccountName=x;AccountKey=', `${any(STD64, 86)}==`, ';EndpointSuffix=core.windows.net');
  behind('azure-signature', 'https://x.blob.core.windows.net/c?sv=2024-01-01&sig=', `${any(ALNUM, 43)}%3D`);
  behind('secret-assignment', 'DB_PASSWORD=', mixed(24));
  behind('secret-assignment', "password: '", `${mixed(24)} and (more)`, "'");
  behind('secret-assignment', '{"client_secret":"', mixed(32), '"}');
  behind('secret-assignment', '{\\"api-key\\": \\"', any(HEX, 40), '\\"}');
  behind('secret-assignment', 'const apiKey = `', mixed(32), '`;');
  return samples;
}

function keyBlock(label: string, lines: readonly string[]): string {
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join('\n');
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
