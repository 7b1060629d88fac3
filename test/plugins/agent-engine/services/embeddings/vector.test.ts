import test from 'ava';
import fc from 'fast-check';
import {
  cosine,
  fromBytes,
  toBytes,
  toUnit,
} from '../../../../../plugins/agent-engine/services/embeddings/vector.ts';

const vector = fc.float32Array({ minLength: 1, maxLength: 64, noNaN: true, noDefaultInfinity: true });

test('likeness is 1 for the same direction, 0 for none in common, -1 for opposites', (t) => {
  const of = (...values: number[]) => Float32Array.of(...values);
  t.is(cosine(of(1, 0), of(5, 0)), 1);
  t.is(cosine(of(1, 0), of(0, 2)), 0);
  t.is(cosine(of(1, 0), of(-3, 0)), -1);
  t.is(cosine(of(0, 0), of(1, 0)), 0);
  t.throws(() => cosine(of(1), of(1, 0)), { instanceOf: RangeError });
});

test('bytes give the vector back, wherever in a buffer they begin', (t) => {
  fc.assert(
    fc.property(vector, fc.integer({ min: 0, max: 7 }), (values, offset) => {
      const bytes = Buffer.concat([Buffer.alloc(offset), toBytes(values)]).subarray(offset);
      return Buffer.from(fromBytes(bytes).buffer).equals(Buffer.from(toBytes(values)));
    }),
  );
  t.deepEqual([...toBytes(Float32Array.of(1, -2))], [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], 'little-endian');
  t.deepEqual(toBytes(Float32Array.of(9, 1).subarray(1)), toBytes(Float32Array.of(1)));
  t.throws(() => fromBytes(Buffer.alloc(5)), { instanceOf: RangeError });
});

test('a vector of length 1 is like the one it was made of', (t) => {
  const usual = fc.array(fc.double({ min: -1000, max: 1000, noNaN: true }), { minLength: 1, maxLength: 32 });
  fc.assert(
    fc.property(usual, (values) => {
      const unit = toUnit(values);
      const length = Math.hypot(...unit);
      return values.every((value) => Math.abs(value) < 1e-6) || Math.abs(length - 1) < 1e-5;
    }),
  );
  t.deepEqual([...toUnit([0, 0])], [0, 0]);
});
