import test from 'ava';
import fc from 'fast-check';
import { jsonFault } from '../../../../../plugins/workflow/services/graph/json.ts';
import { anyCodePoint } from '../../../../support/code-points.ts';

const LIMITS = { bytes: 20, depth: 3 };

const ROWS: readonly (readonly [title: string, value: unknown, fault: string | undefined])[] = [
  ['null', null, undefined],
  ['18 characters', 'x'.repeat(18), undefined],
  ['19 characters and the quotation marks', 'x'.repeat(19), 'too-large'],
  ['10 characters of two bytes', 'é'.repeat(10), 'too-large'],
  ['characters that are escaped', '\u0000'.repeat(4), 'too-large'],
  ['three levels', [[[1]]], undefined],
  ['four levels', [[[[1]]]], 'too-deep'],
  ['an object that fits', { a: { b: 'c' } }, undefined],
  ['an object with a long name', { ['a'.repeat(20)]: 1 }, 'too-large'],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), undefined],
  ['no number', Number.NaN, 'not-json'],
  ['infinity', [Number.POSITIVE_INFINITY], 'not-json'],
  ['undefined', undefined, 'not-json'],
  ['a member that is undefined', { a: undefined }, 'not-json'],
  ['a date', new Date(0), 'not-json'],
  ['a map', new Map(), 'not-json'],
  ['a function', () => 1, 'not-json'],
  ['a bigint', 1n, 'not-json'],
];

for (const [title, value, fault] of ROWS) {
  test(`${title}: ${fault ?? 'fits'}`, (t) => {
    t.is<string | undefined, string | undefined>(jsonFault(value, LIMITS), fault);
  });
}

test('the bytes that are counted are those of the JSON', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCodePoint }), fc.nat({ max: 60 }), (value, bytes) => {
      const isLarge = Buffer.byteLength(JSON.stringify(value)) > bytes;
      t.is(jsonFault(value, { bytes, depth: 1_000 }), isLarge ? 'too-large' : undefined);
    }),
    { numRuns: 500 },
  );
});

test('the members of a list that is too long are not looked at', (t) => {
  let looked = 0;
  const list = new Proxy(Array(1_000).fill(1), {
    get: (target, name) => {
      looked += 1;
      return Reflect.get(target, name);
    },
  });
  t.is(jsonFault({ list }, LIMITS), 'too-large');
  t.is(looked, 0);
});
