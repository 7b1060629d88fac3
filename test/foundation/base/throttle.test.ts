import test from 'ava';
import { throttledLog, throttledLogs } from '../../../foundation/base/throttle.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

test('the first one is logged, and then one in each period, with how many there were since', (t) => {
  const clock = manualClock();
  const logged: number[] = [];
  const log = throttledLog(clock, (_detail, count) => logged.push(count), 1000);
  for (let step = 0; step < 21; step += 1) {
    log();
    clock.advance(100);
  }
  t.deepEqual(logged, [1, 10, 10]);
});

test('things that a key tells apart are logged apart', (t) => {
  const clock = manualClock();
  const logged: unknown[] = [];
  const log = throttledLogs<string>(clock, (...line) => logged.push(line), 1000);
  for (const key of ['a', 'b', 'a', 'a']) log(key, 'first');
  clock.advance(1000);
  log('a', 'later', 5);
  t.deepEqual(logged, [
    ['a', 'first', 1],
    ['b', 'first', 1],
    ['a', 'later', 7],
  ]);
});
