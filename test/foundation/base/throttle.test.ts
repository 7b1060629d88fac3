import test from 'ava';
import { throttledLog } from '../../../foundation/base/throttle.ts';
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
