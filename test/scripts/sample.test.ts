import test from 'ava';
import { affordable, isWhole } from '../support/sample.ts';

const COSTS = { a: 200, b: 50, c: 40, d: 30, e: 20, f: 10 };
const SEEDS = Array.from({ length: 500 }, (_, seed) => seed);

test('of dear files a seed takes as many as reach the budget, and each file has its turn', (t) => {
  const samples = SEEDS.map((seed) => [...affordable('files', COSTS, 100, seed)]);
  for (const files of samples) {
    const costs = files.map((file) => COSTS[file as keyof typeof COSTS]);
    const spent = costs.reduce((sum, cost) => sum + cost, 0);
    if (isWhole) t.is(files.length, 6);
    else t.true(spent >= 100 && spent - costs.at(-1)! < 100, files.join());
  }
  t.deepEqual([...new Set(samples.flat())].sort(), Object.keys(COSTS));
});

test('one seed takes the same files each time', (t) => {
  t.deepEqual(affordable('files', COSTS, 100, 4711), affordable('files', COSTS, 100, 4711));
  t.true(
    isWhole || new Set(SEEDS.map((seed) => [...affordable('files', COSTS, 100, seed)].join())).size > 20,
  );
});
