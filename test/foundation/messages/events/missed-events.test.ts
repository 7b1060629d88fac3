import test from 'ava';
import { createMissedEvents } from '../../../../foundation/messages/events/missed-events.ts';
import { settled, until } from '../../../support/until.ts';
import { PATIENCE } from './events-kit.ts';

function startMissed(every: number) {
  const logged: string[] = [];
  const missed = createMissedEvents(every, {
    error: (_: unknown, line: string) => logged.push(line),
  } as never);
  return { missed, logged };
}

test('reasons that come close together are told at once and at the end of the pause', async (t) => {
  const { missed } = startMissed(200);
  let calls = 0;
  missed.on(() => {
    calls += 1;
  });
  const since = performance.now();
  for (let n = 0; n < 100; n += 1) missed.report();
  t.is(calls, 0);
  await until(() => calls === 1, PATIENCE);
  await until(() => calls === 2, PATIENCE);
  t.true(performance.now() - since >= 195);
  await settled(() => calls, 400);
  t.is(calls, 2);
});

test('a listener that throws is logged and hinders no other', async (t) => {
  const { missed, logged } = startMissed(1);
  let calls = 0;
  missed.on(() => {
    throw new Error('thrown');
  });
  missed.on(() => {
    calls += 1;
  });
  missed.report();
  await until(() => calls === 1, PATIENCE);
  t.deepEqual(logged, ['a listener for missed events failed']);
});

test('a listener that was taken back is not called, nor is any after the end', async (t) => {
  const { missed } = startMissed(1);
  const called: string[] = [];
  const listener = () => void called.push('twice');
  const undo = missed.on(listener);
  missed.on(listener);
  undo();
  undo();
  missed.report();
  await until(() => called.length > 0, PATIENCE);
  missed.close();
  missed.report();
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(called, ['twice']);
});
