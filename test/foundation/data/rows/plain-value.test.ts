import test from 'ava';
import { isPlainValue, sqliteBinding } from '../../../../foundation/data/drivers/values.ts';
import { isPlainJson } from '../../../../foundation/data/rows/plain-entity.ts';

const PLAIN = ['', 'a\0', 0, -0, 1.5, 2 ** 60, 5n, -(2n ** 63n), true, null, new Date(0), Buffer.of(1)];
const NOT_PLAIN = [
  undefined,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  2n ** 63n,
  new Date(Number.NaN),
  new Uint8Array(1),
  {},
  [],
  Symbol('a'),
  () => 1,
];

test('plain values are those that every database has', (t) => {
  for (const value of PLAIN) t.true(isPlainValue(value), String(value));
  for (const value of NOT_PLAIN) t.false(isPlainValue(value), String(value));
});

test('plain JSON is what JSON says exactly', (t) => {
  for (const value of [null, 'a', 1, false, [], {}, { a: [{ b: null }] }, Object.create(null)]) {
    t.true(isPlainJson(value), JSON.stringify(value));
  }
  class Point {
    x = 1;
  }
  const others = [undefined, Number.NaN, 1n, new Date(0), new Point(), { a: undefined }, [{ a: new Map() }]];
  for (const value of others) t.false(isPlainJson(value), String(value));
});

test('JSON that contains itself is not plain', (t) => {
  const circle: unknown[] = [];
  circle.push(circle);
  t.false(isPlainJson(circle));
});

test('SQLite gets whole numbers as integers and times as milliseconds', (t) => {
  t.deepEqual([5, -0, 1.5, 2 ** 60, true, false, new Date(1234), 'a', null, 7n].map(sqliteBinding), [
    5n,
    0n,
    1.5,
    2 ** 60,
    1n,
    0n,
    1234n,
    'a',
    null,
    7n,
  ]);
});
