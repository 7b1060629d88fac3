import test from 'ava';
import fc from 'fast-check';
import { createLogger, type Logger, type LoggerOptions } from '../../../foundation/observability/logger.ts';
import { clipText, redactLine, redactText } from '../../../foundation/observability/redact-text.ts';
import { cpuNow } from '../../support/cpu-time.ts';

function collect(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const { logger, access, follow } = createLogger({
    level: 'info',
    destination: { write: (line) => lines.push(line) },
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), monotonic: () => 0 },
    ...options,
  });
  return { logger, access, follow, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> };
}

test('a line has an ISO time, the level as a word, the fields and the message', (t) => {
  const { logger, lines } = collect();
  logger.child({ plugin: 'hub' }).warn({ status: 503 }, 'node %s is away', 'n1');
  t.deepEqual(lines, [
    '{"level":"warn","time":"2026-01-02T03:04:05.006Z","plugin":"hub","status":503,"msg":"node n1 is away"}\n',
  ]);
});

const request = {
  method: 'GET',
  path: '/v1/me',
  status: 200,
  ms: 1.5,
  requestId: 'r',
  tenantId: 't',
  identity: 'i',
  traceId: undefined,
  code: undefined,
};

test('the line of a request has the form of every other line', (t) => {
  const { logger, access, lines } = collect();
  access('info', request);
  logger.info(request, 'request');
  t.is(lines[0], lines[1]);
});

test('the line of a request is below the level, or free of credentials', (t) => {
  const { access, lines, last } = collect({ secrets: ['configured-secret'] });
  access('debug', request);
  t.deepEqual(lines, []);
  access('warn', { ...request, path: `/hk_${'a'.repeat(43)}/configured-secret/"quoted"` });
  t.is(last().path, '/[REDACTED:gateway-key]/[REDACTED]/"quoted"');
});

test('a level below the configured one writes nothing', (t) => {
  const { logger, lines } = collect({ level: 'warn' });
  logger.info('quiet');
  t.deepEqual(lines, []);
});

test('an error is told with type, code, stack and its causes, without its own members', (t) => {
  const { logger, last } = collect();
  const cause = Object.assign(new TypeError('socket closed'), { code: 'ECONNRESET' });
  const error = Object.assign(new Error('call failed', { cause }), { config: { body: 'conversation' } });
  logger.error({ err: error }, 'no answer');
  const { err } = last() as { err: { stack: string; config?: unknown } };
  t.like(err, { type: 'Error', message: 'call failed', cause: { type: 'TypeError', code: 'ECONNRESET' } });
  t.true(err.stack.includes('logger.test.ts'));
  t.is(err.config, undefined);
});

test('an error alone becomes err and the message', (t) => {
  const { logger, last } = collect();
  logger.error(new RangeError('too far'));
  t.like(last(), { msg: 'too far', err: { type: 'RangeError' } });
});

test('a chain of causes that never ends is cut', (t) => {
  const { logger, lines } = collect();
  const error = new Error('loop');
  error.cause = error;
  logger.error({ err: error });
  t.true(lines[0]!.length < 60_000);
});

test('many failures in one call are cut like any other value', (t) => {
  const { logger, lines, last } = collect();
  const failure = (levels: number): Error => {
    const message = `failed ${'x '.repeat(2_000)}`;
    if (levels === 0) return new Error(message);
    const below = () => failure(levels - 1);
    return new AggregateError([below(), below(), below(), below()], message, { cause: below() });
  };
  logger.error({ err: failure(4) }, 'a tree');
  t.like(last(), { err: { type: 'AggregateError', cause: { type: 'AggregateError' } } });
  logger.error({ failures: Array.from({ length: 90 }, () => failure(0)) }, 'a list');
  for (const line of lines) t.true(line.length < 150_000, `${line.length}`);
});

test('a listener to the log that throws fails nobody who logs, and gets no more lines', async (t) => {
  const { logger, access, follow, lines, last } = collect();
  const heard: string[] = [];
  let calls = 0;
  follow(() => {
    calls += 1;
    throw new Error('not ready');
  });
  follow((line) => heard.push(line));
  logger.info('one');
  access('info', request);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(calls, 1);
  t.like(last(), { level: 'error', err: { message: 'not ready' } });
  t.is(lines.length, 3);
  t.deepEqual(heard, lines);
});

test('values under a secret name are replaced at any depth, whatever they are', (t) => {
  const { logger, last } = collect();
  logger.info({
    headers: { Authorization: ['x'], 'X-API-Key': 'x', Cookie: 'x', accept: 'y' },
    deep: [{ config: { client_secret: { a: 'x' }, key: 12, token: null, total_tokens: 7 } }],
  });
  t.deepEqual(last().headers, {
    Authorization: '[REDACTED]',
    'X-API-Key': '[REDACTED]',
    Cookie: '[REDACTED]',
    accept: 'y',
  });
  t.deepEqual(last().deep, [
    { config: { client_secret: '[REDACTED]', key: '[REDACTED]', token: null, total_tokens: 7 } },
  ]);
});

test('configured secrets of any form are replaced', (t) => {
  const { logger, lines } = collect({ secrets: ['correct horse "battery"', 'short'] });
  logger.info({ note: 'it is correct horse "battery" staple' }, 'short words stay');
  t.false(lines[0]!.includes('battery'));
  t.true(lines[0]!.includes('short words stay'));
  JSON.parse(lines[0]!);
});

test('objects that cannot be read, cycles and huge values do not fail the call or fill the log', (t) => {
  const { logger, lines, last } = collect();
  const cycle: Record<string, unknown> = {
    get broken(): never {
      throw new Error('no');
    },
    toy: { toJSON: () => ({ password: 'hunter2' }) },
    bytes: new Uint8Array(100_000),
    big: 12n,
    long: 'x'.repeat(1_000_000),
    wide: Array.from({ length: 10_000 }, (_, index) => ({ index })),
  };
  cycle.self = cycle;
  logger.info(cycle, 'y'.repeat(1_000_000));
  t.like(last(), {
    broken: '[unreadable]',
    toy: { password: '[REDACTED]' },
    bytes: '[100000 bytes]',
    big: '12',
  });
  t.true(lines[0]!.length < 100_000);
});

/** Each way of handing a text to the logger. */
const WAYS: Readonly<Record<string, (log: Logger, text: string) => void>> = {
  'the message': (log, text) => log.info(text),
  'part of the message': (log, text) => log.info(`before ${text} after`),
  'an interpolated text': (log, text) => log.info('value %s', text),
  'an interpolated object': (log, text) => log.info('value %o', { a: [text] }),
  'a field': (log, text) => log.info({ note: text }, 'x'),
  'the name of a field': (log, text) => log.info({ [text]: 1 }, 'x'),
  'a nested field': (log, text) => log.info({ a: { b: [{ c: text }] } }, 'x'),
  'a field of a child': (log, text) => log.child({ a: { b: text } }).info('x'),
  'a field of a grandchild with options': (log, text) =>
    log.child({}).child({ b: text }, { level: 'info' }).info('x'),
  'a prefix': (log, text) => log.child({}, { msgPrefix: text }).info('x'),
  'a later binding': (log, text) => {
    const child = log.child({});
    child.setBindings({ b: text });
    child.info('x');
  },
  'the message of an error': (log, text) => log.error(new Error(`failed: ${text}`)),
  'the cause of an error': (log, text) => log.error({ err: new Error('x', { cause: new Error(text) }) }),
  'an aggregated error': (log, text) => log.error({ err: new AggregateError([new Error(text)], 'x') }),
  'an error under another name': (log, text) => log.error({ failure: new Error(text) }),
};

/** Each form of a credential around a random body. */
const FORMS: Readonly<Record<string, (body: string) => string>> = {
  'API key': (body) => `hk_${body}`,
  'static token': (body) => `acp_${body}`,
  'model key': (body) => `sk-${body}`,
  'bearer value': (body) => `Bearer ${body}`,
  'URL password': (body) => `postgres://svc:${body}@db/x`,
  'query parameter': (body) => `/x?token=${body}`,
};

const body = fc.string({
  unit: fc.constantFrom(...'ABCDEFabcdef0123456789-_'),
  minLength: 12,
  maxLength: 43,
});
const noise = fc.string({ maxLength: 8 }).map((text) => `${text} `);

for (const [way, write] of Object.entries(WAYS)) {
  test(`a credential given as ${way} is never in the output`, (t) => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(FORMS)), body, noise, (form, secret, before) => {
        const { logger, lines } = collect();
        write(logger, before + form(secret));
        t.is(lines.length, 1);
        JSON.parse(lines[0]!);
        if (lines[0]!.includes(secret)) throw new Error(lines[0]);
      }),
      { numRuns: 150 },
    );
  });
}

test('any value under a secret name is never in the output', (t) => {
  const name = fc.constantFrom(
    'password',
    'X-Api-Key',
    'authorization',
    'access_token',
    'clientSecret',
    'SVC_ACP_TOKEN',
  );
  const secret = fc
    .string({ unit: fc.constantFrom(...'GHIJKLMNOP "\\\n/@:,{}[]'), minLength: 12 })
    .map((text) => `ZQ${text}ZQ`);
  fc.assert(
    fc.property(name, secret, fc.integer({ min: 0, max: 4 }), (key, value, depth) => {
      let fields: Record<string, unknown> = { [key]: value };
      for (let level = 0; level < depth; level += 1)
        fields = level % 2 ? { nested: fields } : { list: [fields] };
      const { logger, lines } = collect();
      logger.info(fields, 'a %o b %j', fields, fields);
      logger.child(fields).info('x');
      for (const line of lines) if (line.includes('ZQ')) throw new Error(line);
    }),
  );
  t.pass();
});

test('pretty lines are for people and hold no secret either', (t) => {
  const { logger, lines } = collect({ pretty: true });
  logger.error({ tenant_id: 't1', note: 'two words', err: new Error('token=hunter2') }, 'failed');
  t.regex(
    lines[0]!,
    /^03:04:05\.006 ERROR failed tenant_id=t1 note="two words"\n {4}Error: token=\[REDACTED\]\n/,
  );
});

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
    t.regex(redacted, /\[REDACTED(?::[a-z-]+)?\]/);
  });
}

const HARMLESS = [
  'SVC_CHANNEL_HASH_SECRET: must be at least 32 characters long',
  '/spec/api_key: is no reference',
  'gateway.yaml:4: plugins.runtime.config.admin_api_key: the value is not a text',
  'gateway.yaml:4: plugins.hub.config.api_key: there is no such setting, did you mean api_keys?',
  'EVOLUTION_HUB_API_KEY: holds a space or a character that no header can carry',
  'LLM_API_KEY: The model API key holds characters that a header cannot carry.',
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
