import test from 'ava';
import { idleCollection } from '../../../foundation/base/idle-memory.ts';

const SECOND = 1_000_000;
const MiB = 1024 * 1024;

/** Looks once a second at a process; each argument is the share of a processor that it used in that second. Says after which looks it collected. */
function collections(shares: readonly number[], heapUsed = 50 * MiB): readonly number[] {
  let cpu = 1.2 * SECOND;
  const collected: number[] = [];
  let second = 0;
  const look = idleCollection({
    collect: () => collected.push(second),
    cpuTime: () => cpu,
    heapUsed: () => heapUsed,
  });
  for (const share of shares) {
    second += 1;
    cpu += share * SECOND;
    look();
  }
  return collected;
}

test('what the start has left behind is collected as soon as the process is idle', (t) => {
  t.deepEqual(collections([0.9, 0.3, 0.01, 0.01, 0.01]), [3]);
});

test('after a load it is collected again, once', (t) => {
  t.deepEqual(collections([0.01, 1, 1, 1, 1, 1, 0.5, 0.01, 0.01]), [1, 8]);
});

test('a little work is not worth a collection, and many hours of it are', (t) => {
  t.deepEqual(collections([0.01, 0.4, 0.01, 0.4, 0.01]), [1]);
  t.deepEqual(collections(Array.from({ length: 600 }, () => 0.01)), [1, 501]);
});

test('a large heap is not collected, which would stop the process for long', (t) => {
  t.deepEqual(collections([0.01, 0.01], 300 * MiB), []);
});
