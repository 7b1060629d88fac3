import test from 'ava';
import { createArgumentCheck } from '../../../../../plugins/agent-engine/services/tools/argument-check.ts';

const check = createArgumentCheck();
const problemsOf = (ref: string, parameters: Record<string, unknown>, text: string) => {
  const checked = check({ ref, parameters }, text);
  return 'problems' in checked ? checked.problems : [];
};

test('all that is wrong is told at once', (t) => {
  const parameters = {
    type: 'object',
    properties: { a: { type: 'number' }, b: { enum: ['x', 'y'] } },
    required: ['c'],
    additionalProperties: false,
  };
  t.deepEqual(problemsOf('builtin/a', parameters, '{"a":"1","b":"z","d":1}'), [
    "The arguments must have required property 'c'",
    'The arguments must NOT have additional properties (d)',
    '/a must be number',
    '/b must be equal to one of the allowed values: ["x","y"]',
  ]);
});

test('no arguments are an empty object', (t) => {
  t.deepEqual(check({ ref: 'builtin/a', parameters: { type: 'object' } }, ' '), { input: {} });
});

test('schemas of any draft are taken', (t) => {
  for (const $schema of [
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
    'x:y',
  ])
    t.deepEqual(
      problemsOf('mcp://s/t', { $schema, $id: 'same', type: 'object', required: ['a'] }, '{"a":1}'),
      [],
    );
});

test('tuples of either draft are checked', (t) => {
  const numbers = [{ type: 'number' }, { type: 'number' }];
  for (const tuple of [
    { items: numbers, additionalItems: false },
    { prefixItems: numbers, items: false },
  ])
    for (const ref of ['mcp://s/t', 'plugin/p/t']) {
      const parameters = { type: 'object', properties: { at: { type: 'array', minItems: 2, ...tuple } } };
      t.deepEqual(problemsOf(ref, parameters, '{"at":[1,2]}'), []);
      t.deepEqual(problemsOf(ref, parameters, '{"at":[1,"2"]}'), ['/at/1 must be number']);
      t.is(problemsOf(ref, parameters, '{"at":[1,2,3]}').length, 1);
    }
});

test('a schema that cannot be compiled refuses the call', (t) => {
  for (const parameters of [
    { type: 'nonsense' },
    { $ref: 'https://example.com/other.json' },
    { description: 'x'.repeat(200_000) },
  ])
    t.regex(problemsOf('mcp://s/t', parameters, '{}')[0] ?? '', /schema is unusable/);
});

test('a regular expression of an MCP server cannot hold the gateway up', (t) => {
  const evil = { type: 'string', pattern: '^(a+)+$' };
  const text = JSON.stringify({ a: `${'a'.repeat(60)}!` });
  // With the pattern tried, this would not end.
  t.deepEqual(problemsOf('mcp://s/t', { type: 'object', properties: { a: evil } }, text), []);
  t.deepEqual(problemsOf('mcp://s/t', { type: 'object', patternProperties: { '^(a+)+$': {} } }, text), []);
  t.deepEqual(problemsOf('builtin/t', { type: 'object', properties: { a: { pattern: '^b' } } }, text), [
    '/a must match pattern "^b"',
  ]);
});

for (const { title, ...parts } of [
  { title: 'what must not match', a: { type: 'string', not: { pattern: '^-' } } },
  { title: 'one of several', a: { oneOf: [{ pattern: '^a' }, { pattern: '^b' }] } },
  { title: 'one of several formats', a: { oneOf: [{ format: 'email' }, { format: 'uuid' }] } },
  { title: 'a condition', a: JSON.parse('{"if":{"pattern":"^-"},"then":{"minLength":9}}') },
  { title: 'members by pattern', a: {}, patternProperties: { '^x-': { type: 'number' } } },
]) {
  test(`a pattern that is not tried refuses nothing: ${title}`, (t) => {
    const { a, ...rest } = parts;
    const parameters = { type: 'object', properties: { a, n: { type: 'number' } }, ...rest };
    t.deepEqual(problemsOf('mcp://s/t', parameters, '{"a":"ab"}'), []);
    t.deepEqual(problemsOf('mcp://s/t', parameters, '{"n":"1"}'), ['/n must be number']);
  });
}

/** A schema of 1 KB that is evaluated 2^40 times: each definition refers to the one before twice. */
const DOUBLING = {
  $defs: Object.fromEntries([
    ['d0', { type: 'string', $ref: '#/$defs/last' }],
    ['last', { minLength: 1 }],
    ...Array.from({ length: 40 }, (_, i) => {
      const before = { $ref: `#/$defs/d${i}` };
      return [`d${i + 1}`, { allOf: [before, before] }];
    }),
  ]),
  properties: { a: { $ref: '#/$defs/d40' } },
};
const names = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`);
/** 30 KB that become gigabytes of code: one large definition, in hundreds of places. */
const UNFOLDING = {
  $defs: { big: { properties: Object.fromEntries(names(500).map((name) => [name, { minLength: 1 }])) } },
  properties: Object.fromEntries(names(500).map((name) => [name, { $ref: '#/$defs/big' }])),
};
/** Refuses each element for as many reasons as it has alternatives. */
const REFUSING = {
  properties: { a: { items: { anyOf: names(2_000).map((_, i) => ({ minLength: i + 1 })) } } },
};

for (const { title, parameters, input } of [
  { title: 'references that double', parameters: DOUBLING, input: { a: 'x' } },
  { title: 'references that unfold', parameters: UNFOLDING, input: { a: 'x' } },
  { title: 'many alternatives', parameters: REFUSING, input: { a: names(50_000).map(() => '') } },
  {
    title: 'elements that are all compared',
    parameters: { properties: { a: { uniqueItems: true } } },
    input: { a: names(30_000).map((_, i) => [i]) },
  },
]) {
  test(`a schema of an MCP server that takes too long is left to the server: ${title}`, (t) => {
    const text = JSON.stringify(input);
    const before = process.cpuUsage();
    t.deepEqual(problemsOf('mcp://s/t', parameters, text), []);
    // 200 ms each are too much as well, again and again.
    for (let call = 0; call < 30; call += 1) t.deepEqual(problemsOf('mcp://s/t', parameters, text), []);
    // What other processes of a busy machine take does not count.
    const { user, system } = process.cpuUsage(before);
    t.true(user + system < 3_000_000, `${user + system} µs`);
  });
}

test('a check that was given up once leaves the schema in force for other arguments', (t) => {
  const parameters = { properties: { a: { uniqueItems: true }, n: { type: 'number' } } };
  const slow = JSON.stringify({ a: names(30_000).map((_, i) => [i]) });
  t.deepEqual(problemsOf('mcp://s/t', parameters, slow), []);
  t.deepEqual(problemsOf('mcp://s/t', parameters, '{"n":"1"}'), ['/n must be number']);
});

test('a format is a note to the model, and is not tried', (t) => {
  const parameters = { type: 'object', properties: { a: { type: 'string', format: 'email' } } };
  for (const ref of ['builtin/t', 'mcp://s/t']) t.deepEqual(problemsOf(ref, parameters, '{"a":"x"}'), []);
});

test('arguments of any length are refused quickly', (t) => {
  t.regex(problemsOf('builtin/a', { type: 'object' }, `"${'x'.repeat(1024 * 1024)}"`)[0] ?? '', /too long/);
});

test('names of the prototype are ordinary names', (t) => {
  const checked = check({ ref: 'builtin/a', parameters: { type: 'object' } }, '{"__proto__":{"x":1}}');
  t.true('input' in checked && Object.getPrototypeOf(checked.input) === Object.prototype);
  t.is(({} as { x?: number }).x, undefined);
});
