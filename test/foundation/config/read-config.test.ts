import test from 'ava';
import fc from 'fast-check';
import type { Static } from 'typebox';
import Type from 'typebox';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { configHash, describeConfig } from '../../../foundation/config/describe-config.ts';
import { field } from '../../../foundation/config/field.ts';
import { processEnvironment, readConfig } from '../../../foundation/config/read-config.ts';
import type { Address } from '../../../foundation/config/units.ts';

const about = { description: 'For the test' };
const Everything = Type.Object({
  text: field.string({ ...about, env: 'T_TEXT', default: 'hello', min: 2, max: 5 }),
  count: field.integer({ ...about, env: 'T_COUNT', default: 3, min: 1, max: 10 }),
  ratio: field.number({ ...about, env: 'T_RATIO', default: 0.5 }),
  on: field.boolean({ ...about, env: 'T_ON', default: true }),
  mode: field.choice(['fast', 'safe'], { ...about, env: 'T_MODE', default: 'safe' }),
  wait: field.duration({ ...about, env: 'T_WAIT', default: '30s', min: '1s', max: '1h' }),
  room: field.size({ ...about, env: 'T_ROOM', default: '1MiB', max: '1GiB' }),
  names: field.list({ ...about, env: 'T_NAMES', default: ['a'] }),
  folders: field.folders({ ...about, env: 'T_FOLDERS' }),
  listen: field.address({ ...about, env: 'T_LISTEN' }),
  link: field.url({ ...about, env: 'T_LINK', protocols: ['https'] }),
  token: field.string({ ...about, env: 'T_TOKEN', secret: true, min: 8 }),
  retry: Type.Object({ max_attempts: field.integer({ ...about, default: 5 }) }),
});

const defaults = {
  text: 'hello',
  count: 3,
  ratio: 0.5,
  on: true,
  mode: 'safe',
  wait: 30_000,
  room: 1_048_576,
  names: ['a'],
  folders: undefined,
  listen: undefined,
  link: undefined,
  token: undefined,
  retry: { max_attempts: 5 },
} as const;

/** Compiles only while the static type is the decoded value. */
type Expected = {
  text: string;
  count: number;
  ratio: number;
  on: boolean;
  mode: 'fast' | 'safe';
  wait: number;
  room: number;
  names: readonly string[];
  folders: readonly string[] | undefined;
  listen: Address | undefined;
  link: string | undefined;
  token: string | undefined;
  retry: { max_attempts: number };
};
const asExpected = (value: Static<typeof Everything>): Expected => value;
const asStatic = (value: Expected): Static<typeof Everything> => value;

const read = (env: Record<string, string>, file?: unknown) =>
  asStatic(asExpected(readConfig(Everything, { env, file, at: 'plugins.demo.config' })));

const problemsOf = (env: Record<string, string>, file?: unknown): string[] => {
  try {
    read(env, file);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split('\n');
    throw error;
  }
  return [];
};

test('without any source every member has its default, or is undefined', (t) => {
  t.deepEqual(read({}), defaults);
});

test('an empty variable and an empty member of the file count as unset', (t) => {
  t.deepEqual(read({ T_COUNT: '', T_TOKEN: '' }, { wait: null, retry: null }), defaults);
});

test('the environment wins over the file, and the file over the default', (t) => {
  const value = read({ T_COUNT: '7' }, { count: 8, ratio: 2 });
  t.is(value.count, 7);
  t.is(value.ratio, 2);
  t.is(value.text, 'hello');
});

const fromText: [string, string, unknown][] = [
  ['T_TEXT', ' ab ', ' ab '],
  ['T_COUNT', ' 4 ', 4],
  ['T_RATIO', '1e-2', 0.01],
  ['T_ON', 'No', false],
  ['T_MODE', 'fast', 'fast'],
  ['T_WAIT', '90', 90_000],
  ['T_ROOM', '64KiB', 65_536],
  ['T_NAMES', 'a, b,,c', ['a', 'b', 'c']],
  ['T_FOLDERS', 'x:/y/z', ['x', '/y/z']],
  ['T_LISTEN', '[::1]:80', { host: '::1', port: 80 }],
  ['T_LINK', 'https://a.example/x', 'https://a.example/x'],
  ['T_TOKEN', 'long enough', 'long enough'],
];
for (const [variable, text, wanted] of fromText) {
  test(`${variable}=${text} is decoded`, (t) => {
    const member = variable.slice(2).toLowerCase() as keyof typeof defaults;
    t.deepEqual(read({ [variable]: text })[member], wanted);
  });
}

const fromFile: [keyof typeof defaults, unknown, unknown][] = [
  ['text', 'abc', 'abc'],
  ['count', 4, 4],
  ['on', false, false],
  ['wait', '5m', 300_000],
  ['wait', 90, 90_000],
  ['room', 4096, 4096],
  ['names', ['x', 'y'], ['x', 'y']],
  ['names', 'x,y', ['x', 'y']],
  ['folders', ['a:b'], ['a:b']],
  ['listen', ':80', { host: '0.0.0.0', port: 80 }],
];
for (const [member, written, wanted] of fromFile) {
  test(`${member}: ${JSON.stringify(written)} in the file is decoded`, (t) => {
    t.deepEqual(read({}, { [member]: written })[member], wanted);
  });
}

const refusedText: [string, string, string][] = [
  ['T_TEXT', 'a', 'T_TEXT: must be at least 2 characters long'],
  ['T_COUNT', '1.5', 'T_COUNT: "1.5" is not a whole number'],
  ['T_COUNT', '0', 'T_COUNT: must be at least 1'],
  ['T_COUNT', '11', 'T_COUNT: must be at most 10'],
  ['T_COUNT', '99999999999999999999', 'T_COUNT: "99999999999999999999" is not a whole number'],
  ['T_RATIO', 'NaN', 'T_RATIO: "NaN" is not a number'],
  ['T_RATIO', '1e999', 'T_RATIO: "1e999" is not a number'],
  ['T_ON', 'maybe', 'T_ON: "maybe" is not true or false'],
  ['T_MODE', 'slow', 'T_MODE: "slow" is not one of fast, safe'],
  ['T_WAIT', 'abc', 'T_WAIT: "abc" is not a duration, write 30s or 5m'],
  ['T_WAIT', '2h', 'T_WAIT: must be at most 1h'],
  ['T_ROOM', '2GiB', 'T_ROOM: must be at most 1GiB'],
  ['T_LISTEN', '80', 'T_LISTEN: "80" is not an address, write host:port, [v6]:port or :port'],
  ['T_LINK', 'http://u:geheim@x/', 'T_LINK: "http://***@x/" is not a URL, write https://…'],
  ['T_TOKEN', 'geheim', 'T_TOKEN: must be at least 8 characters long'],
];
for (const [variable, text, message] of refusedText) {
  test(`${variable}=${text} is refused`, (t) => t.deepEqual(problemsOf({ [variable]: text }), [message]));
}

const at = 'plugins.demo.config';
const refusedFile: [unknown, string][] = [
  [{ count: '4' }, `${at}.count: "4" is not a whole number`],
  [{ on: 'yes' }, `${at}.on: "yes" is not true or false`],
  [{ text: 1234 }, `${at}.text: 1234 is not a text (write numbers and true or false in quotes)`],
  [{ names: ['a', 1] }, `${at}.names: a list is not a list of texts, write a,b`],
  [{ wait: -5 }, `${at}.wait: -5 is not a duration, write 30s or 5m`],
  [{ token: ['geheim'] }, `${at}.token: the value is not a text (write numbers and true or false in quotes)`],
  [{ mode: {} }, `${at}.mode: a mapping is not one of fast, safe`],
  [{ cuont: 1 }, `${at}.cuont: there is no such setting, did you mean count?`],
  [
    { retry: { maxAttempts: 1 } },
    `${at}.retry.maxAttempts: there is no such setting, did you mean max_attempts?`,
  ],
  [{ zzzzzz: 1 }, `${at}.zzzzzz: there is no such setting`],
  [{ retry: 5 }, `${at}.retry: must be a mapping of names to values`],
  [[1], `${at}: must be a mapping of names to values`],
  [JSON.parse('{"__proto__": {"count": 9}}'), `${at}.__proto__: there is no such setting`],
  [{ constructor: 1 }, `${at}.constructor: there is no such setting`],
];
for (const [file, message] of refusedFile) {
  test(`${JSON.stringify(file)} in the file is refused`, (t) => t.deepEqual(problemsOf({}, file), [message]));
}

test('all problems are reported together, also of a file value that a variable wins over', (t) => {
  const problems = problemsOf(
    { T_COUNT: 'x', T_ROOM: '5' },
    { room: 'much', nonsense: 1, retry: { max_attempts: 'y' } },
  );
  t.deepEqual(problems, [
    `${at}.nonsense: there is no such setting`,
    'T_COUNT: "x" is not a whole number',
    `${at}.room: "much" is not a size, write 64KiB or 10MiB`,
    `${at}.retry.max_attempts: "y" is not a whole number`,
  ]);
});

test('a problem of the file carries the line that the locator gives', (t) => {
  const error = t.throws(
    () =>
      readConfig(Everything, {
        env: {},
        file: { count: 'x' },
        at,
        locate: (path) => ({ file: 'gateway.yaml', line: path.length + 11 }),
      }),
    { instanceOf: ConfigurationError },
  );
  t.is(error?.message, `gateway.yaml:12: ${at}.count: "x" is not a whole number`);
});

test('a long value is shortened and its line breaks are escaped', (t) => {
  const [problem] = problemsOf({ T_MODE: `a\nb${'x'.repeat(500)}` });
  t.true(problem?.startsWith('T_MODE: "a\\nbxxx'));
  t.true((problem?.length ?? 0) < 120);
});

test('the configuration is frozen, down to its lists', (t) => {
  const value = read({}, { names: ['x'] });
  t.throws(() => (value.names as string[]).push('y'), { instanceOf: TypeError });
  t.throws(() => Object.assign(value.retry, { max_attempts: 1 }), { instanceOf: TypeError });
});

test('nothing but a ConfigurationError is thrown, and no secret is in its text', (t) => {
  const member = fc.constantFrom(...Object.keys(defaults), 'other');
  const file = fc.oneof(fc.jsonValue(), fc.dictionary(member, fc.jsonValue()));
  const env = fc.dictionary(fc.constantFrom(...fromText.map(([name]) => name)), fc.string());
  fc.assert(
    fc.property(env, file, (variables, written) => {
      const secret = 'geheim!';
      for (const problem of problemsOf({ ...variables, T_TOKEN: secret }, written))
        t.false(problem.includes(secret));
    }),
  );
});

const contradictions: [string, () => unknown][] = [
  ['a default outside its bounds', () => field.integer({ ...about, default: 0, min: 1 })],
  ['a default that is no duration', () => field.duration({ ...about, default: 'soon' })],
  ['a bound that is no size', () => field.size({ ...about, max: 'much' })],
  ['a secret with a default', () => field.string({ ...about, secret: true, default: 'geheim' })],
  ['a variable with a bad name', () => field.string({ ...about, env: 'my-variable' })],
  ['a schema that is not made of fields', () => readConfig(Type.Object({ a: Type.String() }), { env: {} })],
];
for (const [what, declare] of contradictions) {
  test(`${what} is an error of the programmer`, (t) => {
    t.throws(declare, { instanceOf: TypeError });
  });
}

const Config = Type.Object({
  wait: field.duration({ ...about, env: 'T_WAIT', default: '90s' }),
  room: field.size({ ...about, default: '64KiB' }),
  listen: field.address({ ...about, default: '[::1]:80' }),
  names: field.list({ ...about, default: [] }),
  mode: field.choice(['a', 'b'], about),
  link: field.url(about),
  auth: Type.Object({ token: field.string({ ...about, secret: true, unset: 'nobody gets in' }) }),
});
const readFile = (file: unknown = {}) => readConfig(Config, { env: {}, file });

test('the hash is the same for equal configurations and another for every change, secrets included', async (t) => {
  const hash = (file?: unknown) => configHash(readFile(file));
  t.regex(await hash(), /^[0-9a-f]{12}$/);
  t.is(await hash({ wait: '2m', room: '1KiB' }), await hash({ room: 1024, wait: 120 }));
  t.is(await configHash({ a: 1, b: [{ c: 2, d: 3 }] }), await configHash({ b: [{ d: 3, c: 2 }], a: 1 }));
  const different = [
    {},
    { wait: '2m' },
    { mode: 'a' },
    { auth: { token: 'one' } },
    { auth: { token: 'two' } },
    { link: 'https://me:one@x.example/' },
    { link: 'https://me:two@x.example/' },
  ];
  t.is(new Set(await Promise.all(different.map(hash))).size, different.length);
});

test('a member that is neither a field nor a group of fields is named', (t) => {
  for (const member of [Type.String(), Type.Record(Type.String(), Type.String())]) {
    const schema = Type.Object({ group: Type.Object({ limit: member }) });
    t.throws(() => readConfig(schema, { env: {} }), {
      message:
        'The setting "limit" of a configuration schema is neither a field (field.*) nor a group of fields (Type.Object)',
    });
  }
});

test('the description lists every setting with its default, nested ones with their path', (t) => {
  const rows = describeConfig(Config);
  t.deepEqual(
    rows.map(({ key, kind, default: text, hasDefault, secret }) => [key, kind, text, hasDefault, secret]),
    [
      ['wait', 'duration', '90s', true, false],
      ['room', 'size', '64KiB', true, false],
      ['listen', 'address', '[::1]:80', true, false],
      ['names', 'list', 'none', false, false],
      ['mode', 'a | b', 'none', false, false],
      ['link', 'url', 'none', false, false],
      ['auth.token', 'string', 'nobody gets in', false, true],
    ],
  );
  t.is(rows[0]?.env, 'T_WAIT');
});

test.serial('a variable of the process loses one line break at its end, and nothing else', (t) => {
  const kept = ['a b', ' a ', '', '-----BEGIN-----\nabc\n-----END-----'];
  for (const text of kept)
    for (const end of ['', '\n', '\r\n']) {
      process.env.T_LINE = `${text}${end}`;
      t.is(processEnvironment().T_LINE, text);
    }
  process.env.T_LINE = 'a\n\n';
  t.is(processEnvironment().T_LINE, 'a\n');
  delete process.env.T_LINE;
  t.false('T_LINE' in processEnvironment());
});
