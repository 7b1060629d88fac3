import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Lock, OpenLocks } from '../../../../foundation/leases/locks/locks.ts';
import { until } from '../../../support/until.ts';
import { FORMS, type Form, type SharedStore } from './forms.ts';

const PATIENT = 20_000;

/** One test for each form. */
function eachForm(title: string, run: (t: ExecutionContext, store: SharedStore) => Promise<void>): void {
  defineFor(FORMS, title, run);
}

/** One test for each form in which several processes share locks. */
function eachSharedForm(
  title: string,
  run: (t: ExecutionContext, store: SharedStore) => Promise<void>,
): void {
  defineFor(
    FORMS.filter((form) => form.isShared),
    title,
    run,
  );
}

function defineFor(forms: readonly Form[], title: string, run: Parameters<typeof eachForm>[1]): void {
  for (const form of forms) {
    test(`${form.name}: ${title}`, async (t) => {
      const store = await form.open(t);
      if (store !== undefined) await run(t, store);
    });
  }
}

/** Resolves when nobody waits for a lock in this process that could have it. */
async function isWaiting(waiting: Promise<unknown>): Promise<boolean> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  return (await Promise.race([waiting, Promise.resolve('waits')])) === 'waits';
}

eachForm('one holder at a time, among many workers of two processes', async (t, store) => {
  const replicas = [await store.replica(), await store.replica()];
  let inside = 0;
  let most = 0;
  let counter = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    const read = counter;
    await nextTurn();
    counter = read + 1;
    inside -= 1;
  };
  const workers = replicas.flatMap(({ locks }) =>
    Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 3; round += 1) await locks.withLock('counter', { wait: 60_000 }, work);
    }),
  );
  await Promise.all(workers);
  t.is(most, 1);
  t.is(counter, 48);
});

eachForm('locks of different keys do not hinder each other', async (t, store) => {
  const { locks } = await store.replica();
  const held = await Promise.all(['a', 'A', 'a ', 'ä'].map((key) => locks.acquire(key, { wait: 10_000 })));
  t.deepEqual(
    held.map((lock) => lock.key),
    ['a', 'A', 'a ', 'ä'],
  );
  await Promise.all(held.map((lock) => lock.release()));
});

eachForm('in a process, who came first is served first', async (t, store) => {
  const { locks } = await store.replica();
  const first = await locks.acquire('line');
  const served: number[] = [];
  const waiting = Array.from({ length: 10 }, (_, index) =>
    locks.withLock('line', {}, async () => {
      served.push(index);
    }),
  );
  t.true(await isWaiting(waiting[0]!));
  await first.release();
  await Promise.all(waiting);
  t.deepEqual(served, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

eachSharedForm('a process with many waiters does not starve another with one', async (t, store) => {
  const [busy, other] = [(await store.replica()).locks, (await store.replica()).locks];
  const first = await busy.acquire('line');
  let served = 0;
  const many = Array.from({ length: 20 }, () =>
    busy.withLock('line', { wait: 60_000 }, async () => {
      served += 1;
    }),
  );
  const one = other.acquire('line', { wait: 60_000 });
  await until(async () => (await store.tickets('line')) === 1, PATIENT);
  await first.release();
  await (await one).release();
  t.true(served <= 2, `${served} were served before`);
  await Promise.all(many);
});

eachSharedForm('processes that wait are served in the order in which they came', async (t, store) => {
  const replicas = await Promise.all(Array.from({ length: 4 }, () => store.replica()));
  const [{ locks: holder }, ...others] = replicas as [(typeof replicas)[0], ...typeof replicas];
  const first = await holder.acquire('line');
  const served: number[] = [];
  const waiting: Promise<void>[] = [];
  for (const [index, { locks }] of others.entries()) {
    waiting.push(
      locks.withLock('line', { wait: 60_000 }, async () => {
        served.push(index);
      }),
    );
    await until(async () => (await store.tickets('line')) === index + 1, PATIENT);
  }
  await first.release();
  await Promise.all(waiting);
  t.deepEqual(served, [0, 1, 2]);
});

eachForm('a wait ends with lock.timeout, and leaves the line', async (t, store) => {
  const { locks } = await store.replica();
  const { locks: others } = await store.replica();
  const held = await locks.acquire('k');
  const started = performance.now();
  await t.throwsAsync(others.acquire('k', { wait: 300 }), { code: 'lock.timeout' });
  const waited = performance.now() - started;
  t.true(waited >= 290 && waited < 10_000, `${waited} ms`);
  await until(async () => (await store.tickets('k')) === 0, PATIENT);
  await held.release();
  await (await others.acquire('k')).release();
});

eachForm(
  'who does not want to wait any more leaves the line, and the next one is served',
  async (t, store) => {
    const { locks } = await store.replica();
    const { locks: others } = await store.replica();
    const held = await locks.acquire('k');
    const controller = new AbortController();
    const given = others.acquire('k', { signal: controller.signal });
    const next = others.acquire('k');
    t.true(await isWaiting(given));
    controller.abort(new Error('the client went away'));
    await t.throwsAsync(given, { message: 'the client went away' });
    await held.release();
    await (await next).release();
    await until(async () => (await store.tickets('k')) === 0, PATIENT);
    await t.throwsAsync(others.acquire('k', { signal: controller.signal }), {
      message: 'the client went away',
    });
  },
);

eachSharedForm('the lock of a process that died becomes free when its lease ends', async (t, store) => {
  const dying = await store.replica();
  const { locks } = await store.replica();
  const lost = await dying.locks.acquire('k', { lease: 2_000 });
  dying.kill();
  const died = performance.now();
  const lock = await locks.acquire('k');
  const waited = performance.now() - died;
  t.true(waited > 1_000 && waited < 15_000, `${waited} ms`);
  t.true(lock.fence > lost.fence);
  t.true(lost.signal.aborted);
  await lock.release();
});

eachSharedForm('a holder that cannot renew is told before another has the lock', async (t, store) => {
  const dying = await store.replica();
  const { locks } = await store.replica();
  const lost = await dying.locks.acquire('k', { lease: 2_000 });
  dying.kill();
  const isLost = new Promise((resolve) => lost.signal.addEventListener('abort', () => resolve('lost')));
  const isTaken = locks.acquire('k').then((lock) => lock.release().then(() => 'taken'));
  t.is(await Promise.race([isLost, isTaken]), 'lost');
  t.is((lost.signal.reason as { code: string }).code, 'lock.lost');
  await isTaken;
});

eachSharedForm('a process that died while it waited does not hold up the line', async (t, store) => {
  const holder = await store.replica();
  const dying = await store.replica();
  const { locks } = await store.replica();
  const held = await holder.locks.acquire('k');
  // Nobody hears of the dead; without an end of its wait this process would go on until the wait is over.
  const end = new AbortController();
  t.teardown(() => end.abort());
  dying.locks.acquire('k', { wait: 60_000, signal: end.signal }).catch(() => {});
  await until(async () => (await store.tickets('k')) === 1, PATIENT);
  dying.kill();
  const next = locks.acquire('k', { wait: 60_000 });
  await until(async () => (await store.tickets('k')) >= 1, PATIENT);
  const started = performance.now();
  await held.release();
  await (await next).release();
  t.true(performance.now() - started < 15_000);
});

eachForm('fences grow with every holder', async (t, store) => {
  const replicas = [(await store.replica()).locks, (await store.replica()).locks] as [OpenLocks, OpenLocks];
  const fences: number[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    await replicas[turn % 2]!.withLock('k', {}, async (lock) => {
      fences.push(lock.fence);
    });
  }
  for (const [index, fence] of fences.slice(1).entries()) t.true(fence > fences[index]!, fences.join());
  t.true(fences.every(Number.isSafeInteger));
});

eachForm('a lock is held for longer than its lease', async (t, store) => {
  const { locks } = await store.replica();
  const { locks: others } = await store.replica();
  const held = await locks.acquire('k', { lease: 1_500 });
  const started = performance.now();
  await t.throwsAsync(others.acquire('k', { wait: 4_000 }), { code: 'lock.timeout' });
  t.true(performance.now() - started >= 3_900);
  t.false(held.signal.aborted);
  await held.release();
  t.false(held.signal.aborted);
});

eachForm('a release is for its own lock alone, however often it is called', async (t, store) => {
  const { locks } = await store.replica();
  const { locks: others } = await store.replica();
  const first = await locks.acquire('k');
  await Promise.all([first.release(), first.release()]);
  const second = await others.acquire('k');
  await first.release();
  await first[Symbol.asyncDispose]();
  t.is(await locks.tryAcquire('k'), undefined);
  await second.release();
});

eachForm('trying takes a lock that is free, and waits for none', async (t, store) => {
  const { locks } = await store.replica();
  const { locks: others } = await store.replica();
  const lock = (await locks.tryAcquire('k')) as Lock;
  t.is(lock.key, 'k');
  t.is(await locks.tryAcquire('k'), undefined);
  t.is(await others.tryAcquire('k'), undefined);
  t.is(await store.tickets('k'), 0);
  await lock.release();
  const again = (await others.tryAcquire('k')) as Lock;
  t.true(again.fence > lock.fence);
  await again.release();
});

eachForm(
  'work under a lock gives it back when it throws, and its result when it does not',
  async (t, store) => {
    const { locks } = await store.replica();
    const failing = locks.withLock('k', {}, async () => {
      throw new Error('the work failed');
    });
    await t.throwsAsync(failing, { message: 'the work failed' });
    t.is(await locks.withLock('k', { wait: 5_000 }, async (lock) => lock.key), 'k');
  },
);

eachForm('the end loses and frees what is held, and refuses who waits', async (t, store) => {
  const { locks } = await store.replica();
  const { locks: others } = await store.replica();
  const held = await locks.acquire('k');
  const waiting = t.throwsAsync(locks.acquire('k'), { code: 'lock.unavailable', message: /closed/ });
  t.true(await isWaiting(waiting));
  await locks.close();
  await waiting;
  t.is((held.signal.reason as { code: string }).code, 'lock.unavailable');
  await held.release();
  await t.throwsAsync(locks.acquire('k'), { code: 'lock.unavailable' });
  await t.throwsAsync(locks.tryAcquire('k'), { code: 'lock.unavailable' });
  if (others === locks) return;
  const free = await others.acquire('k', { wait: 5_000 });
  await free.release();
});
