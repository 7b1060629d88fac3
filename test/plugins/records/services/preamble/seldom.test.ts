import test from 'ava';
import { createSeldom } from '../../../../../plugins/records/services/preamble/seldom.ts';
import { manualClock } from '../../../../../testing/index.ts';

test('the first one is told, and then one in each period', (t) => {
  const clock = manualClock();
  const seldom = createSeldom(clock, 1000);
  let told = 0;
  const tell = () => {
    told += 1;
  };
  for (let step = 0; step < 21; step += 1) {
    seldom(tell);
    clock.advance(100);
  }
  t.is(told, 3);
});
