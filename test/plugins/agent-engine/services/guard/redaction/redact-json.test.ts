import test from 'ava';
import fc from 'fast-check';
import {
  createRedaction,
  type JsonValue,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/redaction.ts';
import { credentialSamples } from './credential-samples.ts';

const { redactJson, redactJsonText } = createRedaction();
const TOKEN = `ghp_${'a1B2'.repeat(9)}`;
const KEY = `-----BEGIN ${'RSA '}PRIVATE KEY-----\n${'MIIE'.repeat(16)}\n-----END ${'RSA '}PRIVATE KEY-----\n`;

test('strings of a value are redacted at any depth, names and all else stay', (t) => {
  t.deepEqual(redactJson({ a: [1, null, { b: `x ${TOKEN}` }], [TOKEN]: true, pem: KEY }), {
    a: [1, null, { b: 'x [REDACTED:github-token]' }],
    [TOKEN]: true,
    pem: '[REDACTED:private-key]\n',
  });
});

test('a value without credentials is handed back itself', (t) => {
  const value = { a: [1, 'two', { three: null }] };
  t.is(redactJson(value), value);
  t.deepEqual(redactJson(JSON.parse('{"__proto__": "x"}')), JSON.parse('{"__proto__": "x"}'));
});

test('a member is judged by its name', (t) => {
  const value = 'a1b2c3d4e5f6g7h8i9j0k1l2';
  t.deepEqual(redactJson({ note: value, dbPassword: value, api_key: [value] }), {
    note: value,
    dbPassword: '[REDACTED:secret-assignment]',
    api_key: ['[REDACTED:secret-assignment]'],
  });
  t.is(
    redactJsonText(`{"note":"${value}", "password" : "${value}"}`),
    `{"note":"${value}", "password" : "[REDACTED:secret-assignment]"}`,
  );
});

test('what lies too deep, or is too much, is replaced as a whole', (t) => {
  const nested = (depth: number): JsonValue => (depth === 0 ? TOKEN : [nested(depth - 1)]);
  const text = JSON.stringify(redactJson(nested(200)));
  t.false(text.includes(TOKEN));
  t.true(text.includes('[REDACTED:unchecked]'));
  const many = redactJson([...Array.from({ length: 100_000 }, () => 1), TOKEN]) as JsonValue[];
  t.is(many.at(-1), '[REDACTED:unchecked]');
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

test('any JSON stays JSON, and text and value come out alike', (t) => {
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
      const redacted = JSON.stringify(redactJson(json), null, indent);
      if (redactJsonText(text) !== redacted)
        throw new Error(`${redactJsonText(text)}\n  is not\n${redacted}`);
    }),
    { numRuns: 500 },
  );
  t.pass();
});
