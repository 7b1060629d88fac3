import test from 'ava';
import { recentMap } from '../../../foundation/base/recent-map.ts';

test('it holds so many entries, those that were used last', (t) => {
  const map = recentMap<number>(3);
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index);
  map.get('a');
  map.set('d', 3);
  t.deepEqual([...map.entries()].map(([key]) => key).sort(), ['a', 'c', 'd']);
  map.delete('a');
  map.set('e', 4);
  map.set('c', 5);
  t.deepEqual([...map.entries()].sort(), [
    ['c', 5],
    ['d', 3],
    ['e', 4],
  ]);
});

test('one that may hold very many costs nothing before it does', (t) => {
  const before = process.memoryUsage();
  const maps = Array.from({ length: 20 }, () => recentMap<number>(100_000));
  const after = process.memoryUsage();
  const bytes = (of: NodeJS.MemoryUsage) => of.heapUsed + of.arrayBuffers;
  t.true(bytes(after) - bytes(before) < 5_000_000);
  t.is(maps.length, 20);
});
