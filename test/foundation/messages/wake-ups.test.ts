import test from 'ava';
import { createWakeUps, wakeUpEvent } from '../../../foundation/messages/wake-ups.ts';

test('a listener that is taken off twice takes nobody else off', (t) => {
  let missed = () => {};
  const events = {
    emit: () => {},
    on: () => () => {},
    onMissed(listener: () => void) {
      missed = listener;
      return () => {};
    },
  };
  const wakeUps = createWakeUps(events as never, wakeUpEvent('test.waiting'));
  const undo = wakeUps.on('queue', () => t.fail('it was taken off'));
  undo();
  t.plan(1);
  wakeUps.on('queue', () => t.pass());
  undo();
  missed();
});
