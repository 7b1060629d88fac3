import test from 'ava';
import { createRunQueue, nextIndex } from '../../../../../plugins/agent-engine/services/sandbox/run-queue.ts';

const NEVER = new AbortController().signal;

test('the turn goes to the first of the tenant that has the fewest running', (t) => {
  const waiting = ['a', 'a', 'b', 'c'].map((tenantId) => ({ tenantId }));
  t.is(nextIndex(waiting, new Map()), 0);
  t.is(nextIndex(waiting, new Map([['a', 1]])), 2);
  t.is(
    nextIndex(
      waiting,
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    ),
    3,
  );
  t.is(
    nextIndex(
      waiting,
      new Map([
        ['a', 1],
        ['b', 2],
        ['c', 2],
      ]),
    ),
    0,
  );
  t.is(nextIndex([], new Map()), undefined);
});

test('no more run than allowed, and a tenant that floods the queue does not keep another waiting', async (t) => {
  const queue = createRunQueue({ maxRunning: 2, maxWaiting: 6, maxWaitMs: 5000 });
  const order: string[] = [];
  const enter = async (tenant: string) => {
    const leave = await queue.enter(tenant, NEVER);
    order.push(tenant);
    return leave;
  };
  const first = await enter('busy');
  const second = await enter('busy');
  const waiting = ['busy', 'busy', 'busy', 'other'].map(enter);
  await t.throwsAsync(enter('busy'), { code: 'sandbox.busy' });
  t.is(queue.running, 2);
  t.is(queue.waiting, 4);
  first();
  first();
  const leaveOther = await waiting[3]!;
  t.deepEqual(order, ['busy', 'busy', 'other']);
  second();
  leaveOther();
  for (const leave of await Promise.all(waiting.slice(0, 2))) leave();
  (await waiting[2]!)();
  t.is(queue.running, 0);
  t.is(queue.waiting, 0);
});

test('a full queue is busy', async (t) => {
  const queue = createRunQueue({ maxRunning: 1, maxWaiting: 2, maxWaitMs: 5000 });
  const leave = await queue.enter('a', NEVER);
  const waiting = ['b', 'c'].map((tenant) => queue.enter(tenant, NEVER));
  await t.throwsAsync(queue.enter('d', NEVER), { code: 'sandbox.busy' });
  leave();
  (await waiting[0]!)();
  (await waiting[1]!)();
});

test('who waits too long, or gives up, leaves the queue', async (t) => {
  const queue = createRunQueue({ maxRunning: 1, maxWaiting: 4, maxWaitMs: 20 });
  const leave = await queue.enter('a', NEVER);
  await t.throwsAsync(queue.enter('b', NEVER), { code: 'sandbox.busy' });
  const giving = new AbortController();
  const gaveUp = queue.enter('c', giving.signal);
  giving.abort(new Error('enough'));
  await t.throwsAsync(gaveUp, { message: 'enough' });
  await t.throwsAsync(queue.enter('c', giving.signal), { message: 'enough' });
  t.is(queue.waiting, 0);
  leave();
  t.is(queue.running, 0);
});
