import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { idleCollection } from '../../../foundation/base/idle-memory.ts';

const SECOND = 1_000_000;
const MiB = 1024 * 1024;

/**
 * Looks once a second at a process; each argument is the share of a processor that it used in that second. Says after
 * which looks it collected.
 */
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

/** Takes all file descriptors that it gets, and lives on until the process has been looked at. */
const EXHAUSTED = `
  import { openSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { keepSmall } from '${import.meta.resolve('../../../foundation/base/idle-memory.ts')}';
  keepSmall();
  try {
    for (;;) openSync('/dev/null');
  } catch {
    await pause(2500);
  }`;

test('a process that has no file descriptor left is looked at like any other', async (t) => {
  const run = 'ulimit -n 100; exec "$0" --expose-gc --input-type=module --eval "$1"';
  await t.notThrowsAsync(promisify(execFile)('/bin/sh', ['-c', run, process.execPath, EXHAUSTED]));
});
