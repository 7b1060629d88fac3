import test from 'ava';
import fc from 'fast-check';
import {
  ConversionError,
  fromStruct,
  fromTimestamp,
  fromValue,
  type Json,
  toList,
  toStruct,
  toTimestamp,
  toValue,
} from '../../../foundation/protobuf/well-known.ts';

const nested = (levels: number): Json => {
  let value: Json = 'bottom';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};

test('every JSON value survives the way there and back', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      t.deepEqual(fromValue(toValue(value)), value as Json);
    }),
    { numRuns: 500 },
  );
});

test('what JSON.stringify writes is what is sent', (t) => {
  const value = fc.anything({
    withBigInt: false,
    withDate: true,
    withMap: false,
    withSet: false,
    maxDepth: 4,
  });
  fc.assert(
    fc.property(value, (given) => {
      t.is(JSON.stringify(fromStruct(toStruct({ given }))), JSON.stringify({ given }));
    }),
    { numRuns: 500 },
  );
});

test('members named like parts of objects are members', (t) => {
  const given = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "toString": 3}');
  const back = fromStruct(toStruct(given));
  t.is(JSON.stringify(back), JSON.stringify(given));
  t.is(Object.getPrototypeOf(back), Object.prototype);
});

test('a value without any member is null', (t) => {
  t.is(fromValue({}), null);
  t.deepEqual(fromStruct({}), {});
});

test('numbers that JSON has not are refused on the way in, and null on the way out', (t) => {
  for (const numberValue of [Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => fromValue({ numberValue }), { instanceOf: ConversionError });
    t.is(fromValue(toValue(numberValue)), null);
  }
  t.is(fromValue(toValue(12n)), '12');
});

test('depth is bounded both ways', (t) => {
  t.notThrows(() => toValue(nested(40)));
  t.throws(() => toValue(nested(41)), { message: 'is nested deeper than 40 levels' });
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  t.throws(() => toStruct(cycle), { instanceOf: ConversionError });
  let deep: object = { stringValue: 'x' };
  for (let level = 0; level < 41; level += 1) deep = { listValue: { values: [deep] } };
  t.throws(() => fromValue(deep), { instanceOf: ConversionError });
});

test('only objects are structs, and only lists are lists', (t) => {
  for (const given of [null, [], 'x', 7]) t.throws(() => toStruct(given), { message: 'must be an object' });
  for (const given of [null, {}, 'x']) t.throws(() => toList(given), { message: 'must be a list' });
});

test('times are RFC 3339 in UTC with as many digits as they need, three at least', (t) => {
  t.is(fromTimestamp({}), '1970-01-01T00:00:00.000Z');
  t.is(fromTimestamp({ seconds: '1700000000', nanos: 5_000_000 }), '2023-11-14T22:13:20.005Z');
  t.is(fromTimestamp({ seconds: '1700000000', nanos: 5_000 }), '2023-11-14T22:13:20.000005Z');
  t.is(fromTimestamp({ seconds: '-1', nanos: 1 }), '1969-12-31T23:59:59.000000001Z');
  t.is(fromTimestamp({ seconds: '-62135596800' }), '0001-01-01T00:00:00.000Z');
  t.is(fromTimestamp({ seconds: '253402300799', nanos: 999_999_999 }), '9999-12-31T23:59:59.999999999Z');
  for (const bad of [
    { seconds: '253402300800' },
    { seconds: 'x' },
    { nanos: -1 },
    { nanos: 1_000_000_000 },
  ]) {
    t.throws(() => fromTimestamp(bad), { instanceOf: ConversionError }, JSON.stringify(bad));
  }
});

test('every date survives, as a Date and as text', (t) => {
  const date = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(date, (at) => {
      t.is(fromTimestamp(toTimestamp(at)), at.toISOString());
      t.is(fromTimestamp(toTimestamp(at.toISOString())), at.toISOString());
    }),
    { numRuns: 500 },
  );
});

test('every timestamp survives to the nanosecond', (t) => {
  const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
  fc.assert(
    fc.property(seconds, fc.integer({ min: 0, max: 999_999_999 }), (whole, nanos) => {
      t.deepEqual(toTimestamp(fromTimestamp({ seconds: String(whole), nanos })), { seconds: whole, nanos });
    }),
    { numRuns: 500 },
  );
});

test('texts that are no RFC 3339 time are refused', (t) => {
  t.deepEqual(toTimestamp('2024-02-29t12:00:00+01:00'), toTimestamp('2024-02-29T11:00:00Z'));
  for (const bad of [
    '2023-02-29T00:00:00Z',
    '2024-02-29',
    '2024-02-29T12:00:00',
    '2024-13-01T00:00:00Z',
    'now',
    7,
    null,
  ]) {
    t.throws(() => toTimestamp(bad), { instanceOf: ConversionError }, String(bad));
  }
  t.throws(() => toTimestamp(new Date(Number.NaN)), { message: 'is an invalid Date' });
});
