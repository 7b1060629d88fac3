import { VENDOR_SAMPLES } from './vendor-samples.ts';

/** A text with one credential in it, and what it is redacted to. */
export interface Sample {
  readonly kind: string;
  /** What stays before the credential; a name, where only a name gives it away. */
  readonly lead: string;
  readonly secret: string;
  /** What stays after it. */
  readonly tail: string;
  /** Whether it has no end, and goes on in what follows. */
  readonly isOpen?: boolean;
}

/** Whether 8 or more characters in a row of the secret are in the output; those of its surroundings do not count. */
export function leaks(output: string, { lead, secret, tail }: Sample): boolean {
  const rest = `${lead} ${tail}`;
  const shown = output.replaceAll(/\[REDACTED:[a-z0-9-]+\]/g, ' ');
  for (let index = 0; index + 8 < secret.length; index += 1) {
    const part = secret.slice(index, index + 9);
    if (shown.includes(part) && !rest.includes(part)) return true;
  }
  return false;
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const ALNUM = LOWER + UPPER + DIGITS;
const URL64 = `${ALNUM}-_`;
const STD64 = `${ALNUM}+/`;
const ALPHABETS: Readonly<Record<string, string>> = {
  digit: DIGITS,
  hex: HEX,
  HEX: HEX.toUpperCase(),
  lower: LOWER + DIGITS,
  upper: UPPER + DIGITS,
  alnum: ALNUM,
  url: URL64,
  base64: STD64,
};

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

  /** `<class 20>` as random characters. */
  const fill = (template: string) =>
    template.replaceAll(/<(\w+) ?(\d*)>/g, (_, name: string, length: string) => {
      if (name === 'uuid') return [8, 4, 4, 4, 12].map((part) => any(HEX, part)).join('-');
      return name === 'mixed' ? mixed(Number(length)) : any(ALPHABETS[name]!, Number(length));
    });
  for (const line of VENDOR_SAMPLES.split('\n').filter((line) => line !== '')) {
    const [kind, ...templates] = line.split(/\s+(?![^<]*>)/);
    for (const template of templates) {
      const [, lead = '', secret = '', tail = ''] = /^(?:(.*)→)?([^←]*)←?(.*)$/.exec(fill(template))!;
      samples.push({ kind: kind!, lead, secret, tail });
    }
  }
  const user = Buffer.from(`2${any(DIGITS, 17)}`).toString('base64url');
  add('discord-bot-token', `${user}.${any(URL64, 6)}.${any(URL64, 38)}`);

  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = json({ alg: 'HS256', typ: 'JWT' });
  const claims = json({ sub: any(DIGITS, 10), name: any(LOWER, 12) });
  add('jwt', `${header}.${claims}.${any(URL64, 43)}`, `${json({ alg: 'none' })}.${claims}`);
  add('jwt', `${json({ typ: 'JWT', x5c: [any(ALNUM, 3000)], alg: 'RS256' })}`);
  add(
    'encoded-credential',
    Buffer.from(JSON.stringify({ note: any(LOWER, 9), key: `ghp_${any(ALNUM, 36)}` })).toString('base64'),
  );
  add(
    'encoded-credential',
    Buffer.from(keyBlock('PRIVATE KEY', [any(ALNUM, 64), any(ALNUM, 64)])).toString('base64'),
  );
  add(
    'jwe',
    [
      json({ alg: 'RSA-OAEP', enc: 'A256GCM' }),
      any(URL64, 342),
      any(URL64, 16),
      any(URL64, 80),
      any(URL64, 22),
    ].join('.'),
  );
  add(
    'jwe',
    [json({ alg: 'dir', enc: 'A128CBC-HS256' }), '', any(URL64, 22), any(URL64, 80), any(URL64, 22)].join(
      '.',
    ),
  );
  for (const label of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])
    add(
      'private-key',
      keyBlock(`${label}PRIVATE KEY`, [`MII${any(STD64, 61)}`, any(STD64, 64), any(STD64, 30)]),
    );
  add('private-key', keyBlock('RSA PRIVATE KEY', ['Proc-Type: 4,ENCRYPTED', '', any(STD64, 64)]));
  add('private-key', keyBlock('PGP PRIVATE KEY BLOCK', ['Version: GnuPG v2', '', any(STD64, 64)]));
  add('private-key', keyBlock('PGP PRIVATE KEY BLOCK', ['', `xc${any(STD64, 62)}`, any(STD64, 64)]));
  add(
    'private-key',
    keyBlock('RSA PRIVATE KEY', ['Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-128-CBC,0011', '', any(STD64, 64)]),
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
