import test from 'ava';
import { createWaitingLine } from '../../../foundation/leases/waiting-line.ts';

/** Nobody gives up. */
const patience = new AbortController().signal;

test('ten thousand may wait for a key, and one more is refused', async (t) => {
  const line = createWaitingLine();
  const leave = await line.enter('k', patience);
  const waiting = Array.from({ length: 10_000 }, () => line.enter('k', patience));
  await t.throwsAsync(line.enter('k', patience), { code: 'lock.too-many-waiters' });
  (await line.enter('other', patience))();
  leave();
  let served = 0;
  for (const turn of waiting) {
    (await turn)();
    served += 1;
  }
  t.is(served, 10_000);
  t.truthy(line.tryEnter('k'));
});

test('who gives up in the moment of his turn leaves it to the next', async (t) => {
  const line = createWaitingLine();
  const controller = new AbortController();
  const leave = await line.enter('k', patience);
  const given = line.enter('k', controller.signal);
  const next = line.enter('k', patience);
  controller.abort(new Error('gave up'));
  leave();
  await t.throwsAsync(given, { message: 'gave up' });
  (await next)();
  t.truthy(line.tryEnter('k'));
});

test('leaving twice lets one in', async (t) => {
  const line = createWaitingLine();
  const leave = await line.enter('k', patience);
  const [second, third] = [line.enter('k', patience), line.enter('k', patience)];
  leave();
  leave();
  const leaveSecond = await second;
  t.is(await Promise.race([third, Promise.resolve('waits')]), 'waits');
  leaveSecond();
  (await third)();
});
