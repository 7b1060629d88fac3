import test from 'ava';
import fc from 'fast-check';
import type { Memory } from '../../../../../plugins/records/contract.ts';
import { rank, score } from '../../../../../plugins/records/services/memories/rank.ts';

const at = new Date(0);
const memory = (key: string, value: string): Memory => ({
  ...{ id: key, userId: 'ana', key, value, metadata: {} },
  createdAt: at,
  updatedAt: at,
});
const x = Float32Array.of(1, 0);
const y = Float32Array.of(0, 1);
const all = { limit: 10, threshold: 0.2 };

test('shared words and likeness each only add, from 0 to 1', (t) => {
  t.is(score(0, 0), 0);
  t.is(score(0, 1), 0.5);
  t.is(score(1, 0), 1);
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(unit, unit, (alike, words) => {
      const both = score(alike, words);
      return both >= alike - 1e-12 && both >= words / 2 - 1e-12 && both <= 1;
    }),
  );
});

test('meaning comes before words, and words decide between equals', async (t) => {
  const candidates = [
    { memory: memory('drink', 'coffee'), vector: y },
    { memory: memory('beverage', 'oolong'), vector: x },
    { memory: memory('tea', 'oolong'), vector: x },
  ];
  const found = await rank(candidates, { query: 'favourite tea', vector: Float32Array.of(0.9, 0.1), ...all });
  t.deepEqual(
    found.map(({ key }) => key),
    ['tea', 'beverage'],
  );
});

test('without vectors the words decide alone', async (t) => {
  const candidates = [
    { memory: memory('city', 'lives in Porto'), vector: undefined },
    { memory: memory('tea', 'likes green tea'), vector: x },
  ];
  const found = await rank(candidates, { query: 'green tea', vector: undefined, ...all });
  t.deepEqual(
    found.map(({ key, score: fit }) => [key, fit]),
    [['tea', 0.5]],
  );
});

test('the limit and the threshold hold, and of equals the first stays first', async (t) => {
  const candidates = Array.from({ length: 250 }, (_, index) => ({
    memory: memory(`k${index}`, 'tea'),
    vector: x,
  }));
  const found = await rank(candidates, { query: 'tea', vector: x, limit: 3, threshold: 0.2 });
  t.deepEqual(
    found.map(({ key }) => key),
    ['k0', 'k1', 'k2'],
  );
  t.deepEqual(await rank(candidates, { query: 'coffee', vector: y, limit: 3, threshold: 0.2 }), []);
});
