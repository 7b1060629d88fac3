import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import { BASE64_WINDOW, type Pattern, type Step } from '../../../foundation/redaction/pattern.ts';
import { CREDENTIAL_KINDS, createRedaction } from '../../../foundation/redaction/redaction.ts';
import { credentialSamples } from './credential-samples.ts';

const { redact } = createRedaction();

test('every kind has samples, a title and a source, and a name of its own', (t) => {
  const sampled = new Set(credentialSamples().map(({ kind }) => kind));
  t.deepEqual([...sampled].sort(), CREDENTIAL_KINDS.map(({ kind }) => kind).sort());
  for (const { kind, title, source } of CREDENTIAL_KINDS) {
    t.regex(kind, /^[a-z0-9]+(-[a-z0-9]+)*$/);
    t.true(title.length > 10, kind);
    t.regex(source, /^https:|^(?:kernel|foundation)\//, kind);
  }
});

const SAMPLES = Array.from({ length: 20 }, (_, index) => credentialSamples(index + 1)).flat();

for (const kind of new Set(SAMPLES.map((sample) => sample.kind))) {
  test(`${kind}: the credential is replaced, and nothing else`, (t) => {
    for (const { lead, secret, tail, ...sample } of SAMPLES) {
      if (sample.kind !== kind) continue;
      const marked = `${lead}[REDACTED:${kind}]${tail}`;
      t.is(redact(lead + secret + tail), marked);
      t.is(redact(`Use ${lead}${secret}${tail}, please.`), `Use ${marked}, please.`);
      t.is(redact(`密钥${lead}${secret}${tail}😀`), `密钥${marked}😀`);
      t.is(redact(`\n"${lead}${secret}${tail}"\n`), `\n"${marked}"\n`);
      t.is(redact(`x\\n${lead}${secret}${tail}\\n`), `x\\n${marked}\\n`);
    }
  });
}

/** The longest text of a pattern of which it is still undecided whether it is a credential. */
function longestUndecided(steps: readonly Step[]): number {
  let length = 0;
  let undecided = 0;
  for (const step of steps) {
    if (step.type === 'base64') return BASE64_WINDOW;
    if (step.type === 'through') break;
    const isOptional = step.type === 'run' && step.min === 0;
    // What follows the last step that must be there is part of a credential already.
    if (!isOptional) undecided = length + needed(step);
    length += step.type === 'judged' ? step.limit : step.type === 'unless' ? 0 : step.max;
  }
  return undecided;
}

function needed(step: Step): number {
  if (step.type === 'run') return step.min;
  if (step.type === 'judged') return step.limit;
  return step.type === 'before' ? step.max : 1;
}

/** The steps after those with which another pattern has decided already. */
function undecidedSteps({ prefix, steps, secretFrom }: Pattern, others: readonly Pattern[]): readonly Step[] {
  const decided = others
    .filter((other) => isDeepStrictEqual(other.prefix, prefix) && other.steps.length < steps.length)
    .filter((other) => isDeepStrictEqual(other.steps, steps.slice(0, other.steps.length)))
    .map((other) => other.steps.length);
  return steps.slice(Math.max(0, secretFrom, ...decided));
}

test('no pattern keeps the text waiting for more than 2 KiB and a bit, base64 for its window', (t) => {
  for (const { kind, patterns } of CREDENTIAL_KINDS) {
    for (const pattern of patterns) {
      const longest = pattern.prefix.length + longestUndecided(undecidedSteps(pattern, patterns));
      t.true(longest <= (kind === 'encoded-credential' ? BASE64_WINDOW + 8 : 2100), `${kind}: ${longest}`);
    }
  }
});

const { redactJsonText } = createRedaction();

type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

const redactJson = (value: JsonValue): JsonValue => JSON.parse(redactJsonText(JSON.stringify(value)));

/** What is to come of a value, string by string. */
function expected(value: JsonValue, name?: string): JsonValue {
  if (typeof value === 'string') {
    const lead = name === undefined ? '' : `${name.slice(-64)}="`;
    const redacted = redact(lead + value);
    return redacted.startsWith(lead) ? redacted.slice(lead.length) : redact(value);
  }
  if (Array.isArray(value)) return value.map((item) => expected(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), expected(item, key)]));
}

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;
const KEY = `-----BEGIN ${'RSA '}PRIVATE KEY-----\n${'MIIE'.repeat(16)}\n-----END ${'RSA '}PRIVATE KEY-----\n`;

test('strings of a value are redacted at any depth, names too, and all else stays', (t) => {
  t.deepEqual(redactJson({ a: [1, null, { b: `x ${TOKEN}` }], [TOKEN]: true, pem: KEY }), {
    a: [1, null, { b: 'x [REDACTED:github-token]' }],
    '[REDACTED:github-token]': true,
    pem: '[REDACTED:private-key]\n',
  });
});

test('a value without credentials stays as it is', (t) => {
  for (const text of ['{ "a": [1, "two", {"three": null}]}', '{"__proto__": "x"}'])
    t.is(redactJsonText(text), text);
});

test('a member is judged by its name', (t) => {
  const value = 'a1b2c3d4e5f6g7h8i9j0k1l2';
  t.deepEqual(redactJson({ note: value, dbPassword: value, api_key: [value] }), {
    note: value,
    dbPassword: '[REDACTED:secret-assignment]',
    api_key: ['[REDACTED:secret-assignment]'],
  });
  const list = ['[REDACTED:secret-assignment]'];
  t.deepEqual(redactJson([{ api_key: [[value], value] }, value, { secret: { note: 1 } }, [value]]), [
    { api_key: [list, ...list] },
    value,
    { secret: { note: 1 } },
    [value],
  ]);
  t.is(
    redactJsonText(`{"note":"${value}", "password" : "${value}"}`),
    `{"note":"${value}", "password" : "[REDACTED:secret-assignment]"}`,
  );
});

test('what lies deep, or behind much else, is redacted like the rest', (t) => {
  const nested = (depth: number): JsonValue => (depth === 0 ? TOKEN : [nested(depth - 1)]);
  const text = JSON.stringify(redactJson(nested(200)));
  t.false(text.includes(TOKEN));
  const many = redactJson([...Array.from({ length: 100_000 }, () => 1), TOKEN]) as JsonValue[];
  t.is(many.at(-1), '[REDACTED:github-token]');
});

test('JSON text stays as it was outside of the strings that changed', (t) => {
  const text = `{ "id": 12345678901234567890,\n\t"a": "\\u00e9\\/", "a": 1.0, "k": "${TOKEN}", "z": "\\\\" }`;
  t.is(redactJsonText(text), text.replace(TOKEN, '[REDACTED:github-token]'));
});

test('a credential that is written with escapes is found', (t) => {
  const escaped = TOKEN.replace('g', '\\u0067').replace('_', '\\u005f');
  t.is(redactJsonText(`["${escaped}"]`), '["[REDACTED:github-token]"]');
  t.is(redactJsonText(JSON.stringify({ pem: KEY })), '{"pem":"[REDACTED:private-key]\\n"}');
  t.is(
    redactJsonText(JSON.stringify(JSON.stringify({ pem: KEY }))),
    '"{\\"pem\\":\\"[REDACTED:private-key]\\\\n\\"}"',
  );
});

test('text that is no JSON is redacted as text', (t) => {
  t.is(redactJsonText(`{"token": "${TOKEN}", "cut of`), '{"token": "[REDACTED:github-token]", "cut of');
  t.is(redactJsonText(''), '');
});

test('any JSON stays JSON, and its strings come out as each by itself', (t) => {
  const secrets = credentialSamples().map(({ lead, secret, tail }) => lead + secret + tail);
  const leaf = fc.oneof(
    fc.string(),
    fc.double({ noNaN: true }),
    fc.constant(null),
    fc.constantFrom(...secrets),
  );
  const name = fc.oneof(fc.string(), fc.constantFrom('password', 'a', 'secret', '"', '\\'));
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf as fc.Arbitrary<JsonValue>,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (json, indent) => {
      const text = JSON.stringify(json, null, indent);
      const redacted = JSON.stringify(expected(json), null, indent);
      if (redactJsonText(text) !== redacted)
        throw new Error(`${redactJsonText(text)}\n  is not\n${redacted}`);
    }),
    { numRuns: 500 },
  );
  t.pass();
});

/** What a template holds, which a linter would take for a mistake if it stood here. */
const hole = (expression: string) => ['$', '{', expression, '}'].join('');
const bytes = (length: number, seed: string) =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 32) }, (_, index) =>
      createHash('sha256').update(`${seed}${index}`).digest(),
    ),
  );

const ORDINARY: Readonly<Record<string, readonly string[]>> = {
  prose: [
    'Your password must have 12 characters. The secret of a good token is its length: 32 bytes or more.',
    'Use a bearer token for authentication. Basic authentication sends the password with every request.',
    'The password: correct horse battery staple. Passwort: bitte ändern!',
    '密码：请不要分享。Secret: 不要说出来。',
    'AKIA and ASIA are the prefixes of AWS; ghp_ is that of GitHub, sk- that of OpenAI.',
  ],
  'words with the beginnings of keys': [
    'pip install sk-learn scikit-learn; task-sk-abcdefghijklmnopqrstuvwxyz012345',
    'sk-estimator-html-documentation-link, desk-organizer-with-many-drawers, sk_live_demo, key-value-store',
    'hf_transfer, npm_config_registry, npm_lifecycle_event, r8_format, pypi-AgE, xoxb-your-token',
    'AKIA, ASIANGAMES2022, SKILLS, ACCOUNT, AIzawa, SG.Utils.Form, dapi-server, hvs.Encoder, glc_init',
    'npm_packageconfigregistryurl, npm_packageConfigRegistryUrl, npm_package2configregistryurl, hf_hubdownloadtimeoutseconds',
    'live_streamingconfigurationoptions test_thatthegatewayanswerswith429 secret_aliasesofthemodelsthatareusedbytheagents0',
    'pattern.matches path.resolve patience14chars. sk_learn_estimators pk_users_email_key api-gateway-v2 sdk-for-node',
    'VF.js dp.st.cluster-1 na1.hubspot.com re_exports t1.column sl.length API-KEY-AUTHENTICATION sha256~1.2.3 hawk.auth',
    'web_search token-based:authentication access-production-cluster 1/2023:q1 1000.000.000 00-trace-id cu_abc key-32',
    'MTIz is 123 in base64; eyJhIjoxfQ is {"a":1}; eyJ.eyJ. is nothing',
  ],
  identifiers: [
    '550e8400-e29b-41d4-a716-446655440000 and 0198a5c2-7f3e-7cc1-9d1b-3c5e7a9b1d2f',
    'commit c23eafc00d1f9b8a7e6d5c4b3a29180716253443 (HEAD -> main), tree 9fceb02',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'arn:aws:iam::123456789012:role/gateway, i-0abcd1234efgh5678, 4111 1111 1111 1111, +49 30 123456',
    '2026-03-01T12:30:45.123Z 1700000000:ok 12345678:90 [10:20:30]',
  ],
  code: [
    'const password = await readPassword(prompt); if (password === undefined) throw new Error("no password");',
    `export API_KEY=$MY_API_KEY_2; password=${hole('DB_PASSWORD:-changeme')}; secret = process.env.API_SECRET_V2`,
    'api_key: YOUR_API_KEY_GOES_HERE\npassword: "{{ vault_password }}"\nsecret: /run/secrets/db-password-1',
    `headers.set("Authorization", 'Bearer ${hole('token')}'); // Authorization: Bearer <token>`,
    'Authorization: Bearer YOUR_ACCESS_TOKEN',
    `postgres://$USER:$PASSWORD@db:5432/app postgres://app:${hole('DB_PASSWORD')}@db redis://:$(cat password)@cache`,
    'interface Login { user: string; password: string; apiKey?: string; secret: Uint8Array }',
    'password_hash = hashPassword(password), max_tokens: 4096, secretKeyRef: {name: gateway-secrets}',
    'git clone git@github.com:owner/name.git && cd name && npm ci',
  ],
  addresses: [
    'http://localhost:8080/v1/chat?user=me@example.com http://[::1]:3000/ https://host:8443',
    'postgres://localhost:5432/app redis://cache:6379/0 ssh://git@github.com:22/owner/name',
    'ssh://git:22@host ssh://git@host:22/a redis://:6379@cache http://localhost:3000?user=me@example.com',
    'mongodb://shard-00-00.abc.mongodb.net:27017,shard-00-01.abc.mongodb.net:27017/?replicaSet=atlas-1@main',
    'kafka://broker-1:9092,broker-2:9092@cluster arn:aws:eks:eu-west-1:123456789012:cluster/prod-1 gke_project_zone_prod-1',
    'https://user@example.com/ mailto:someone@example.com https://registry.npmjs.org/@scope/name',
    'https://example.com/a?sig=short&token=abc https://medium.com/@author/title-1a2b3c4d5e6f',
  ],
  'encoded data': [
    `data:image/png;base64,${bytes(60_000, 'image').toString('base64')}`,
    bytes(20_000, 'hex').toString('hex'),
    `//# sourceMappingURL=data:application/json;base64,${Buffer.from(
      JSON.stringify({ version: 3, sources: Array.from({ length: 300 }, (_, index) => `file-${index}.ts`) }),
    ).toString('base64')}`,
    `-----BEGIN CERTIFICATE-----\n${bytes(900, 'cert').toString('base64')}\n-----END CERTIFICATE-----`,
    `-----BEGIN PUBLIC KEY-----\n${bytes(90, 'public').toString('base64')}\n-----END PUBLIC KEY-----`,
    `ssh-ed25519 ${bytes(51, 'ssh').toString('base64')} me@host`,
    '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
  ],
};

for (const [title, texts] of Object.entries(ORDINARY)) {
  test(`${title} without credentials stays as it is`, (t) => {
    for (const text of texts) t.is(redact(text), text);
  });
}

test('the documents and the lockfile of this repository stay as they are, but for the passwords of URLs', (t) => {
  const root = new URL('../../..', import.meta.url);
  for (const file of [
    'README.md',
    'CONTRIBUTING.md',
    'docs/plugins.md',
    'package-lock.json',
    'kernel/index.ts',
  ]) {
    const text = readFileSync(new URL(file, root), 'utf8');
    t.true(redact(text) === text.replaceAll(/(:\/\/gateway:)secret@/g, '$1[REDACTED:url-password]@'), file);
  }
});
