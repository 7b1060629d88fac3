import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv } from 'ajv';
import type { TestFn } from 'ava';
import anyTest from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { field } from '../../../foundation/config/field.ts';
import {
  defaultEntry,
  loadGatewayFile,
  parseGatewayFile,
  pluginSources,
} from '../../../foundation/config/gateway-file.ts';
import { gatewayFileSchema } from '../../../foundation/config/gateway-file-schema.ts';
import { readConfig } from '../../../foundation/config/read-config.ts';

const test = anyTest as TestFn<{ folder: string; file: string }>;

test.beforeEach(async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-file-'));
  t.context = { folder, file: path.join(folder, 'gateway.yaml') };
});
test.afterEach.always((t) => rm(t.context.folder, { recursive: true }));

const parse = (text: string) => parseGatewayFile('gateway.yaml', text);
const problemOf = (text: string): string => {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  return '';
};

test('a missing file means all defaults', async (t) => {
  const file = await loadGatewayFile(t.context.file);
  t.false(file.exists);
  t.is(file.plugins.size, 0);
});

test('an entry is decoded, and what it leaves out is the default', async (t) => {
  await writeFile(
    t.context.file,
    'plugins:\n  notes: { package: "@acme/gateway-plugin-notes" }\n  local: { path: ./local }\n  workflow:\n    enabled: false\n    onFailure: abort\n    drainTimeout: 5s\n    config: { max_steps: 7 }\n  console:\n',
  );
  const file = await loadGatewayFile(t.context.file);
  t.true(file.exists);
  t.deepEqual(
    [...file.plugins],
    [
      ['notes', { ...defaultEntry, package: '@acme/gateway-plugin-notes' }],
      ['local', { ...defaultEntry, path: './local' }],
      [
        'workflow',
        {
          ...defaultEntry,
          enabled: false,
          config: { max_steps: 7 },
          onFailure: 'abort',
          drainTimeout: 5000,
        },
      ],
      ['console', defaultEntry],
    ],
  );
});

for (const text of ['', '# nothing here\n', '---\n', 'plugins:\n', 'plugins: {}\n', '\uFEFFplugins:\n']) {
  test(`${JSON.stringify(text)} says nothing`, (t) => t.is(parse(text).plugins.size, 0));
}

const invalid: [string, string][] = [
  [
    'plugins:\n  a:\n    enabeld: true\n',
    'gateway.yaml:3: plugins.a.enabeld: there is no such setting, did you mean enabled?',
  ],
  ['plugins:\n  a:\n    enabled: yes\n', 'gateway.yaml:3: plugins.a.enabled: "yes" is not true or false'],
  [
    'plugins:\n  a:\n    drainTimeout: soon\n',
    'gateway.yaml:3: plugins.a.drainTimeout: "soon" is not a duration, write 30s or 5m',
  ],
  [
    'plugins:\n  a:\n    config: 5\n',
    'gateway.yaml:3: plugins.a.config: 5 is not a mapping of names to values',
  ],
  ['plugins:\n  a: true\n', 'gateway.yaml:2: plugins.a: must be a mapping of names to values'],
  ['plugins:\n  Bad Name: {}\n', 'gateway.yaml:2: plugins.Bad Name: is not the name of a plugin'],
  ['plugins:\n  __proto__: {}\n', 'gateway.yaml:2: plugins.__proto__: is not the name of a plugin'],
  ['plugins: [a]\n', 'gateway.yaml:1: plugins: must be a mapping of names to values'],
  ['plugin: {}\n', 'gateway.yaml:1: plugin: there is no such setting, did you mean plugins?'],
  ['- a\n', 'gateway.yaml: must be a mapping of names to values'],
  ['plugins:\n  a: {}\n  a: {}\n', 'gateway.yaml:3: Map keys must be unique'],
  ['plugins:\n  a:\n    config: {b: 1,\n      "b": 2}\n', 'gateway.yaml:4: Map keys must be unique'],
  ['plugins:\n  a: {}\n  ? a\n  : {}\n', 'gateway.yaml:3: Map keys must be unique'],
  ['plugins:\n\ta: {}\n', 'gateway.yaml:2: Tabs are not allowed as indentation'],
  ['a: 1\n---\nb: 2\n', 'gateway.yaml:2: a second YAML document begins here'],
  ['plugins: !!set {}\n', 'gateway.yaml:1: this is not valid YAML'],
];
for (const [text, message] of invalid) {
  test(`${JSON.stringify(text)} is refused with its line`, (t) => t.is(problemOf(text), message));
}

test('everything that is wrong is reported together', (t) => {
  const message = problemOf('plugins:\n  a:\n    enabled: 1\n    onFailure: stop\n  B: {}\nother: 1\n');
  t.deepEqual(
    message.split('\n').map((line) => line.split(':')[1]),
    ['6', '3', '4', '5'],
  );
});

for (const text of [
  'plugins: { a: { config: { token: "geheim } } }',
  'plugins:\n  geheim\n  a: &geheim geheim geheim: x',
  'a: *geheim',
  'token: |geheim\n x',
  '"geheim\\z"',
]) {
  test(`the message about ${JSON.stringify(text)} quotes nothing of it`, (t) => {
    t.not(problemOf(text), '');
    t.notRegex(problemOf(text), /geheim/);
  });
}

for (const name of ['../notes', '/notes', 'Notes', '@acme', '@acme/a/b', '.notes', 'a b']) {
  test(`${name} is no package`, (t) => {
    const text = `plugins:\n  notes:\n    package: '${name}'\n`;
    t.is(problemOf(text), 'gateway.yaml:3: plugins.notes.package: is not the name of an npm package');
  });
}

test('a plugin has a package or a path', (t) => {
  t.is(
    problemOf('plugins:\n  notes:\n    package: notes\n    path: ./notes\n'),
    'gateway.yaml:4: plugins.notes.path: is where the plugin lies, and so is its package: state one of them',
  );
});

test('a bomb of aliases is refused', (t) => {
  const levels = Array.from(
    { length: 12 },
    (_, i) =>
      `  l${i}: &l${i} [${Array(10)
        .fill(i === 0 ? 'x' : `*l${i - 1}`)
        .join(', ')}]`,
  );
  t.regex(problemOf(`plugins:\n${levels.join('\n')}\n`), /aliases/);
});

test('a value that contains itself is refused', (t) => {
  t.regex(problemOf('plugins:\n  a:\n    config: &c { self: *c }\n'), /circular/);
});

test('deep nesting is refused without overflowing the stack', (t) => {
  t.not(problemOf(`plugins: ${'['.repeat(50_000)}`), '');
  t.not(problemOf(`plugins: ${'['.repeat(20_000)}${']'.repeat(20_000)}`), '');
});

test('a file that is too large, not UTF-8, a folder or a pipe is refused with the reason', async (t) => {
  const { file, folder } = t.context;
  const refuses = async (target: string, reason: RegExp) =>
    void (await t.throwsAsync(loadGatewayFile(target), { instanceOf: ConfigurationError, message: reason }));
  await writeFile(file, `# ${'x'.repeat(256 * 1024)}\n`);
  await refuses(file, /is larger than 262144 bytes/);
  await writeFile(file, Buffer.from([0x61, 0xff]));
  await refuses(file, /is not UTF-8/);
  await refuses(folder, /is not a file/);
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await refuses(pipe, /is not a file/);
});

test("a problem of a plugin's configuration is reported with its line", (t) => {
  const file = parse('plugins:\n  workflow:\n    config:\n      # at most\n      max_steps: many\n');
  const schema = Type.Object({ max_steps: field.integer({ description: 'Steps', env: 'MAX', default: 1 }) });
  const error = t.throws(() => readConfig(schema, pluginSources(file, 'workflow', {})), {
    instanceOf: ConfigurationError,
  });
  t.is(error?.message, 'gateway.yaml:5: plugins.workflow.config.max_steps: "many" is not a whole number');
  t.is(readConfig(schema, pluginSources(parse(''), 'constructor', { MAX: '5' })).max_steps, 5);
});

test('no text makes it throw anything but a ConfigurationError', (t) => {
  const piece = fc.constantFrom(
    'plugins:',
    '\n',
    '  ',
    'a',
    ': ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '&x ',
    '*x',
    '!!map ',
    '"',
    "'",
    '|',
    '#',
    '\t',
    '?',
    '%',
    '---',
    ',',
    '<<',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join('')),
      ),
      (text) => void problemOf(text),
    ),
    {
      numRuns: 1000,
    },
  );
  t.pass();
});

const about = { description: 'For the test' };
const Config = Type.Object({
  wait: field.duration({ ...about, default: '30s' }),
  room: field.size({ ...about, default: '1MiB' }),
  count: field.integer({ ...about, default: 3, min: 1, max: 9 }),
  text: field.string({ ...about, max: 4 }),
  mode: field.choice(['fast', 'safe'], about),
  names: field.list(about),
  listen: field.address({ ...about, default: ':80' }),
  on: field.boolean({ ...about, env: 'T_ON', default: false }),
  retry: Type.Object({ ratio: field.number({ ...about, default: 0.5 }) }),
});
const schema = gatewayFileSchema([
  { name: 'demo', summary: 'A demo', config: Config },
  { name: 'bare', summary: 'Bare' },
]);
const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { uri: true } });
const isValid = ajv.compile(schema);

const isReadable = (config: unknown): boolean => {
  try {
    const file = parseGatewayFile('gateway.yaml', JSON.stringify({ plugins: { demo: { config } } }));
    readConfig(Config, pluginSources(file, 'demo', {}));
    return true;
  } catch (error) {
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
};

test('the schema of gateway.yaml is a strict JSON Schema that shows no annotation of ours', (t) => {
  t.false(JSON.stringify(schema).includes('x-field'));
  t.true(JSON.stringify(schema).includes('The variable T_ON wins over it'));
});

const cases: [unknown, boolean][] = [
  [{}, true],
  [{ plugins: null }, true],
  [
    { plugins: { demo: { enabled: false, onFailure: 'abort', drainTimeout: '5s', config: { wait: 5 } } } },
    true,
  ],
  [{ plugins: { demo: { config: { wiat: 5 } } } }, false],
  [{ plugins: { bare: { config: { any: 1 } } } }, false],
  [{ plugins: { theirs: { config: { any: 1 } } } }, true],
  [{ plugins: { theirs: { enabeld: true } } }, false],
  [{ plugins: { 'Bad Name': {} } }, false],
  [{ plugin: {} }, false],
];
for (const [value, wanted] of cases) {
  test(`${JSON.stringify(value)} is ${wanted ? 'valid' : 'not valid'}`, (t) => t.is(isValid(value), wanted));
}

test('editor and gateway agree about a configuration', (t) => {
  const members: Record<string, fc.Arbitrary<unknown>> = {
    wait: fc.constantFrom('30s', '1h30m', 'soon', 5, -5, 0.5, true, [], ''),
    room: fc.constantFrom('1MiB', '64 kb', '1TB', 1024, -1, 1.5, ''),
    count: fc.constantFrom(0, 1, 9, 10, 1.5, '3'),
    text: fc.constantFrom('abcd', 'abcde', 5, true),
    mode: fc.constantFrom('fast', 'slow', 1),
    names: fc.constantFrom(['a'], 'a,b', [1], {}, []),
    listen: fc.constantFrom('h:1', '[::1]:1', ':1', '1', 1),
    on: fc.constantFrom(true, false, 'yes', 1),
    retry: fc.constantFrom({}, { ratio: 1 }, { ratio: '1' }, { other: 1 }, 5, []),
    other: fc.constant(1),
  };
  const config = fc.record(members, { requiredKeys: [] });
  fc.assert(
    fc.property(config, (value) => isValid({ plugins: { demo: { config: value } } }) === isReadable(value)),
    { numRuns: 2000 },
  );
  t.pass();
});
