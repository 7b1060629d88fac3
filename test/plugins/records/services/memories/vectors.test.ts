import test from 'ava';
import { likeness, toBytes, toVector } from '../../../../../plugins/records/services/memories/vectors.ts';

test('a vector is the same after it was kept, wherever its bytes begin', (t) => {
  const vector = Float32Array.of(0.6, -0.8, 0);
  const bytes = toBytes(vector);
  t.is(bytes.length, 12);
  t.is(bytes.readFloatLE(4), Math.fround(-0.8));
  const shifted = Buffer.concat([Buffer.from([1]), bytes]).subarray(1);
  t.deepEqual(toVector(shifted), vector);
});

test('bytes that are no vector are none', (t) => {
  t.is(toVector(Buffer.alloc(0)), undefined);
  t.is(toVector(Buffer.alloc(7)), undefined);
});

test('likeness goes from 0 to 1', (t) => {
  const one = Float32Array.of(1, 0);
  t.is(likeness(one, one), 1);
  t.is(likeness(one, Float32Array.of(0, 1)), 0);
  t.is(likeness(one, Float32Array.of(-1, 0)), 0);
  t.is(likeness(one, Float32Array.of(1, 0, 0)), 0);
  t.is(likeness(one, Float32Array.of(Number.NaN, 0)), 0);
  t.is(likeness(one, Float32Array.of(2, 0)), 1);
});
