import { Ajv } from 'ajv';
import test from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { ConfigurationError } from '../../../foundation/config/configuration-error.ts';
import { field } from '../../../foundation/config/field.ts';
import { parseGatewayFile, pluginSources } from '../../../foundation/config/gateway-file.ts';
import { gatewayFileSchema } from '../../../foundation/config/gateway-file-schema.ts';
import { readConfig } from '../../../foundation/config/read-config.ts';
import { redactConfig } from '../../../foundation/config/redact-config.ts';

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

test('what a report shows of a configuration is valid in the file', (t) => {
  const shown = redactConfig(Config, readConfig(Config, { env: {}, file: { names: ['a'], mode: 'fast' } }));
  t.true(isValid({ plugins: { demo: { config: shown } } }));
});
