import test from 'ava';
import fc from 'fast-check';
import { type Json, OPERATORS, type Operator } from '../../../../../plugins/workflow/contract/graph.ts';
import { compare, compileCondition } from '../../../../../plugins/workflow/services/graph/conditions.ts';
import { cpuNow } from '../../../../support/cpu-time.ts';
import { runData } from './kit.ts';

/** One value of each JSON type, and those that are easily taken for one another. */
const VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1.5,
  '',
  '0',
  '1',
  'abc',
  'b',
  'true',
  'null',
  [],
  [1, 'b'],
  ['abc'],
  [[1]],
  {},
  { a: 1 },
  { a: 1, b: null },
];

/** Pairs of each operator that match; no other pair of the values does. */
const MATCHES: Readonly<
  Record<Exclude<Operator, 'exists' | 'eq' | 'ne'>, readonly (readonly [Json, Json])[]>
> = {
  gt: [pair(1, 0), pair(1, -1.5), pair(0, -1.5), ...above(['', '0', '1', 'abc', 'b', 'null', 'true'])],
  gte: [
    pair(1, 0),
    pair(1, -1.5),
    pair(0, -1.5),
    pair(0, 0),
    pair(1, 1),
    pair(-1.5, -1.5),
    ...above(['', '0', '1', 'abc', 'b', 'null', 'true']),
    ...VALUES.filter((value) => typeof value === 'string').map((text) => pair(text, text)),
  ],
  lt: [
    pair(0, 1),
    pair(-1.5, 1),
    pair(-1.5, 0),
    ...above(['', '0', '1', 'abc', 'b', 'null', 'true']).map(([more, less]) => pair(less, more)),
  ],
  lte: [
    pair(0, 1),
    pair(-1.5, 1),
    pair(-1.5, 0),
    pair(0, 0),
    pair(1, 1),
    pair(-1.5, -1.5),
    ...above(['', '0', '1', 'abc', 'b', 'null', 'true']).map(([more, less]) => pair(less, more)),
    ...VALUES.filter((value) => typeof value === 'string').map((text) => pair(text, text)),
  ],
  contains: [
    ...VALUES.filter((value) => typeof value === 'string').flatMap((text) => [
      pair(text, ''),
      pair(text, text),
    ]),
    pair('abc', 'b'),
    pair([1, 'b'], 1),
    pair([1, 'b'], 'b'),
    pair(['abc'], 'abc'),
  ],
  startsWith: VALUES.filter((value) => typeof value === 'string').flatMap((text) => [
    pair(text, ''),
    pair(text, text),
  ]),
  endsWith: VALUES.filter((value) => typeof value === 'string').flatMap((text) => [
    pair(text, ''),
    pair(text, text),
  ]),
};

function pair(found: Json, value: Json): readonly [Json, Json] {
  return [found, value];
}

/** Each of some ordered texts with all that are below it. */
function above(texts: readonly string[]): readonly (readonly [Json, Json])[] {
  return texts.flatMap((text, index) => texts.slice(0, index).map((below) => pair(text, below)));
}

for (const [op, matches] of Object.entries(MATCHES)) {
  test(`${op} matches what it should, of every pair of types`, (t) => {
    const expected = new Set(matches.map((match) => JSON.stringify(match)));
    for (const found of VALUES) {
      for (const value of VALUES) {
        const shown = JSON.stringify([found, value]);
        t.is(compare(op as Operator, found, value), expected.has(shown), `${op} ${shown}`);
      }
    }
  });
}

test('eq is the same JSON without coercion, ne is not', (t) => {
  for (const found of VALUES) {
    for (const value of VALUES) {
      const isSame = JSON.stringify(found) === JSON.stringify(value);
      t.is(compare('eq', found, value), isSame, JSON.stringify([found, value]));
      t.is(compare('ne', found, value), !isSame, JSON.stringify([found, value]));
    }
  }
});

test('exists tells whether the path leads somewhere; null is there', (t) => {
  for (const found of VALUES) {
    t.true(compare('exists', found, true));
    t.false(compare('exists', found, false));
  }
});

test('a missing path matches nothing but ne and exists: false', (t) => {
  for (const op of OPERATORS) {
    for (const value of VALUES) {
      const isMatch = op === 'ne' || (op === 'exists' && value === false);
      t.is(compare(op, undefined, value), isMatch, `${op} ${JSON.stringify(value)}`);
    }
  }
});

test('equality does not care for the order of members, but for that of elements', (t) => {
  t.true(compare('eq', { a: 1, b: [2, { c: 3 }] }, { b: [2, { c: 3 }], a: 1 }));
  t.false(compare('eq', [1, 2], [2, 1]));
  t.false(compare('eq', { a: 1 }, { a: 1, b: 1 }));
  t.false(compare('eq', ['x'], { 0: 'x' }));
  t.true(compare('contains', [{ a: [1] }], { a: [1] }));
});

test('equality sees own members only', (t) => {
  const polluted = JSON.parse('{"__proto__": {"a": 1}}');
  t.false(compare('eq', polluted, {}));
  t.false(compare('eq', polluted, { a: 1 }));
  t.true(compare('eq', polluted, JSON.parse('{"__proto__": {"a": 1}}')));
  t.false(compare('eq', JSON.parse('{"__proto__": {}}'), { other: 1 }));
});

test('values that are nested 100,000 times are compared', (t) => {
  const deep = (core: Json): Json => {
    let value = core;
    for (let level = 0; level < 100_000; level += 1) value = [value];
    return value;
  };
  t.true(compare('eq', deep(1), deep(1)));
  t.false(compare('eq', deep(1), deep(2)));
});

test('a text contains what it would by the definition, with few different characters too', (t) => {
  const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });
  fc.assert(
    fc.property(text(200), text(40), fc.nat(200), (whole, part, from) => {
      t.is(compare('contains', whole, part), whole.includes(part));
      const own = whole.slice(from, from + 60);
      t.true(compare('contains', whole, own));
    }),
  );
});

test('whatever an author compares with whatever data, the work grows with both and not with their product', (t) => {
  const started = cpuNow();
  const half = 'a'.repeat(8_000);
  t.false(compare('contains', 'a'.repeat(1_000_000), `${half}b${half}`));
  t.false(compare('contains', 'a'.repeat(1_000_000), `b${half}${half}`));
  t.false(compare('contains', Array(300_000).fill(1), 2));
  const members = Array.from({ length: 300_000 }, () => ({ b: 1, c: 2 }));
  t.false(compare('contains', members, { a: 1 }));
  const large = Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, index]));
  for (let edge = 0; edge < 100; edge += 1) t.false(compare('eq', large, { a: 1 }));
  t.true(cpuNow() - started < 1_500);
});

test('what JSON writes and reads again is equal, and a change is seen', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const again = JSON.parse(JSON.stringify(one)) as Json;
      // JSON writes -0 as 0.
      t.true(compare('eq', again, JSON.parse(JSON.stringify(again))));
      t.is(compare('eq', again, other as Json), compare('eq', other as Json, again));
      t.is(compare('ne', again, other as Json), !compare('eq', again, other as Json));
      t.false(compare('eq', [again], again));
    }),
  );
});

test('a condition reads input, variables and outputs, elements by number', (t) => {
  const data = runData({
    input: { list: [{ name: 'first' }], null: null },
    variables: { limit: 10 },
    outputs: { ask: { text: 'yes' } },
  });
  const matches = (field: string, op: Operator, value: Json) => {
    const condition = compileCondition({ field, op, value });
    return condition.kind === 'field' && condition.matches(data);
  };
  t.true(matches('input.list.0.name', 'eq', 'first'));
  t.true(matches('variables.limit', 'gt', 9));
  t.true(matches('steps.ask.output.text', 'startsWith', 'y'));
  t.true(matches('steps.ask.output', 'eq', { text: 'yes' }));
  t.true(matches('input.null', 'exists', true));
  t.true(matches('input.null', 'eq', null));
  t.true(matches('steps.other.output', 'exists', false));
  for (const field of [
    'input.toString',
    'input.__proto__',
    'input.constructor.name',
    'variables.limit.toFixed',
    'input.list.length',
    'input.list.00',
    'input.list.-1',
    'input.list.1',
    'steps.ask.output.text.0',
  ]) {
    t.true(matches(field, 'exists', false), field);
  }
});

test('an outcome is a condition of its own', (t) => {
  t.deepEqual(compileCondition({ outcome: 'yes' }), { kind: 'outcome', outcome: 'yes' });
  t.throws(() => compileCondition({ field: 'nowhere', op: 'eq', value: 1 }), { message: /leads nowhere/ });
});
