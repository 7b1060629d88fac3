import test from 'ava';
import fc from 'fast-check';
import { clipText, REDACTED, redactLine, redactText } from '../../../foundation/observability/redact-text.ts';
import { cpuNow } from '../../support/cpu-time.ts';

const BODY = 'Zx81kLmQ9-_rT4uVwXyZ012345abcDEF';

const TEXTS: readonly (readonly [where: string, text: string, secret: string])[] = [
  ['an API key', `key hk_${BODY} is unknown`, BODY],
  ['an API key after a line break', `first\nhk_${BODY}`, BODY],
  ['an API key inside a word', `xhk_${BODY}${BODY}`, BODY],
  ['the static token', `(acp_${BODY})`, BODY],
  ['a model key', `Incorrect API key provided: sk-${BODY}.`, BODY],
  ['a short model key', 'sk-abc123', 'abc123'],
  ['a JWT', `got eyJhbGciOiJSUzI1NiJ9.${BODY}.${BODY}`, BODY],
  ['a bearer value', 'Authorization: Bearer p@ss"w0rd!x', 'w0rd'],
  ['a bearer value in lower case', 'authorization=bearer short', 'short'],
  ['a basic value', 'Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjpwYXNzd29yZA'],
  ['the password of a URL', 'connect postgres://svc:hunter2@db:5432/x failed', 'hunter2'],
  ['a password with a slash', 'connect postgres://svc:hun/ter2@db:5432/x failed', 'ter2'],
  ['a password with an at sign', 'redis://:hun@ter2@cache:6379', 'ter2'],
  ['a token as the user of a URL', `https://${BODY}@example.com/repo`, BODY],
  ['a Go DSN', 'root:hunter2@tcp(127.0.0.1:3306)/svc', 'hunter2'],
  ['a query parameter', '/v1/x?api_key=hunter2&limit=5', 'hunter2'],
  ['an assignment in capitals', 'LLM_API_KEY=hunter2 is wrong', 'hunter2'],
  ['a mixed-case name', 'PaSsWoRd : hunter2', 'hunter2'],
  ['a JSON body', '{"user":"a","password":"hunter2 \\"and\\" more","x":1}', 'and'],
  ['an inspected object', "{ user: 'a', client_secret: 'hunter2 and' }", 'hunter2'],
  ['a number in a JSON body', '{"password":1234567}', '1234567'],
  ['a cookie header', 'cookie: a=1; svc_session=hunter2; b=2', 'hunter2'],
];

for (const [where, text, secret] of TEXTS) {
  test(`${where} is taken out of a text`, (t) => {
    const redacted = redactText(text);
    t.false(redacted.includes(secret), redacted);
    t.true(redacted.includes(REDACTED), redacted);
  });
}

const HARMLESS = [
  'GET /v1/tenants/{id} answered 200',
  'the hk_AbCdE prefix of a key may be shown',
  'prompt_tokens: 12, total_tokens: 40',
  'at load (file:///srv/node_modules/@mikro-orm/core/index.js:10:5)',
  'mail from someone@example.com about a risk-assessment of task-manager',
  'http://localhost:8080/v1/me',
  'tokens are counted, secrets are kept, keys are rotated',
];

for (const text of HARMLESS) {
  test(`"${text}" stays as it is`, (t) => t.is(redactText(text), text));
}

test('any line of JSON stays a line of JSON', (t) => {
  const fragments = [
    '"',
    '\\',
    '\n',
    '@',
    '://',
    ':',
    '=',
    ' ',
    "'",
    'token',
    'password',
    'Bearer',
    'cookie',
    'hk_',
    '\\"',
    'n',
  ];
  const text = fc.array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 4 })), {
    maxLength: 14,
  });
  fc.assert(
    fc.property(text, text, (left, right) => {
      const line = JSON.stringify({ [left.join('')]: right.join(''), msg: left.join('') });
      JSON.parse(redactLine(line));
    }),
    { numRuns: 3000 },
  );
  t.pass();
});

test('a backslash at the end of a string does not let a pattern run over its end', (t) => {
  for (const text of ['cookie:\\', 'token\\', 'password=\\\\', "cookie='\\"]) {
    const line = JSON.stringify({ [text]: 1, msg: text, after: 'kept' });
    t.is((JSON.parse(redactLine(line)) as { after: string }).after, 'kept');
  }
});

test('a text with many beginnings of secrets is searched in linear time', (t) => {
  const started = cpuNow();
  redactText('://a:'.repeat(20_000));
  redactText('password="'.repeat(10_000));
  redactText('x.x.x:'.repeat(20_000));
  redactText(`cookie:${' '.repeat(50_000)}`);
  t.true(cpuNow() - started < 3000);
});

test('a text is cut after its secrets are gone', (t) => {
  t.is(clipText('short', 10), 'short');
  const clipped = clipText(`postgres://svc:${'x'.repeat(50)}@db/${'y'.repeat(100)}`, 40);
  t.false(clipped.includes('xxx'));
  t.is(clipped.length, 41);
});
