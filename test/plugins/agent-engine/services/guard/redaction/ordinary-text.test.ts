import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { createRedaction } from '../../../../../../plugins/agent-engine/services/guard/redaction/redaction.ts';

const { redact } = createRedaction();
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
  const root = new URL('../../../../../../', import.meta.url);
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
