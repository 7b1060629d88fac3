import test from 'ava';
import {
  forEachLimited,
  KeyedMutex,
  Mutex,
  mapLimited,
  Semaphore,
} from '../../../foundation/base/semaphore.ts';

test('one key is worked on by one at a time, in order, also after a failure', async (t) => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, wait: Promise<void>) => async () => {
    order.push(`${name} begins`);
    await wait;
    order.push(`${name} ends`);
  };
  const first = mutex.run('a', work('first', gate.promise));
  const failing = mutex.run('a', () => Promise.reject(new Error('failed')));
  const last = mutex.run('a', work('last', Promise.resolve()));
  await mutex.run('b', work('other', Promise.resolve()));
  t.deepEqual(order, ['first begins', 'other begins', 'other ends']);
  gate.resolve();
  await first;
  await t.throwsAsync(failing, { message: 'failed' });
  await last;
  t.deepEqual(order.slice(3), ['first ends', 'last begins', 'last ends']);
});

test('as many as there are places run at one time, the others in order of arrival', async (t) => {
  const semaphore = new Semaphore(2);
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const runs = gates.map((gate, n) =>
    semaphore.run(async () => {
      begun.push(n);
      await gate.promise;
    }),
  );
  await Promise.resolve();
  t.is(semaphore.waiting, 2);
  t.false(semaphore.isFree);
  gates[1]!.resolve();
  await runs[1];
  t.deepEqual(begun, [0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(runs);
  t.deepEqual(begun, [0, 1, 2, 3]);
  t.is(semaphore.waiting, 0);
  t.true(semaphore.isFree);
});

test('a turn that is ended twice frees one place, and a task that fails frees its own', async (t) => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  const second = mutex.acquire();
  const third = mutex.acquire();
  release();
  release();
  const releaseSecond = await second;
  t.is(mutex.waiting, 1);
  releaseSecond();
  (await third)();
  await t.throwsAsync(
    mutex.run(() => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.is(await mutex.run(() => 'free'), 'free');
});

test('who waits for longer than allowed gets the error, and takes no turn later', async (t) => {
  const mutex = new Mutex({ timeoutMs: 10, expired: () => new Error('too long') });
  const release = await mutex.acquire();
  await t.throwsAsync(mutex.acquire(), { message: 'too long' });
  t.is(mutex.waiting, 0);
  release();
  t.is(await mutex.run(() => 'mine'), 'mine');
});

test('results keep the order of the items, and no more than the width run at one time', async (t) => {
  let running = 0;
  let most = 0;
  const results = await mapLimited([5, 1, 3, 2, 4], 2, async (n) => {
    running += 1;
    most = Math.max(most, running);
    for (let tick = 0; tick < n; tick += 1) await Promise.resolve();
    running -= 1;
    return n * 10;
  });
  t.deepEqual(results, [50, 10, 30, 20, 40]);
  t.is(most, 2);
});

test('no further item is begun after an abort or a failure', async (t) => {
  const ends = new AbortController();
  const handled: number[] = [];
  await forEachLimited(
    [1, 2, 3],
    1,
    async (n) => {
      handled.push(n);
      if (n === 2) ends.abort();
    },
    ends.signal,
  );
  t.deepEqual(handled, [1, 2]);
  const failing = forEachLimited([1, 2, 3], 1, async (n) => {
    handled.push(n);
    throw new Error(`item ${n}`);
  });
  await t.throwsAsync(failing, { message: 'item 1' });
  t.deepEqual(handled, [1, 2, 1]);
});
