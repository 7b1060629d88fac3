import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Lease } from '../../../foundation/leases/leases.ts';
import { until } from '../../support/until.ts';
import { FORMS, type Form, granted, localSignals, type SharedStore } from './forms.ts';

const PATIENT = 20_000;

/** One test for each form. */
function eachForm(title: string, run: (t: ExecutionContext, store: SharedStore) => Promise<void>): void {
  defineFor(FORMS, title, run);
}

/** One test for each form in which several processes share leases. */
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

/** Resolves when nobody waits for a lease in this process that could have it. */
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
  const workers = replicas.flatMap(({ leases }) =>
    Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 3; round += 1) await leases.withLease('counter', { wait: 60_000 }, work);
    }),
  );
  await Promise.all(workers);
  t.is(most, 1);
  t.is(counter, 48);
});

eachForm('leases of different keys do not hinder each other', async (t, store) => {
  const { leases } = await store.replica();
  const held = await Promise.all(['a', 'A', 'a ', 'ä'].map((key) => leases.acquire(key, { wait: 10_000 })));
  t.deepEqual(
    held.map((lease) => lease.key),
    ['a', 'A', 'a ', 'ä'],
  );
  await Promise.all(held.map((lease) => lease.release()));
});

eachForm('in a process, who came first is served first', async (t, store) => {
  const { leases } = await store.replica();
  const first = await leases.acquire('line');
  const served: number[] = [];
  const waiting = Array.from({ length: 10 }, (_, index) =>
    leases.withLease('line', {}, async () => {
      served.push(index);
    }),
  );
  t.true(await isWaiting(waiting[0]!));
  await first.release();
  await Promise.all(waiting);
  t.deepEqual(served, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

eachSharedForm('a process with many waiters does not starve another with one', async (t, store) => {
  const [busy, other] = [(await store.replica()).leases, (await store.replica()).leases];
  const first = await busy.acquire('line');
  let served = 0;
  const many = Array.from({ length: 20 }, () =>
    busy.withLease('line', { wait: 60_000 }, async () => {
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
  const [{ leases: holder }, ...others] = replicas as [(typeof replicas)[0], ...typeof replicas];
  const first = await holder.acquire('line');
  const served: number[] = [];
  const waiting: Promise<void>[] = [];
  for (const [index, { leases }] of others.entries()) {
    waiting.push(
      leases.withLease('line', { wait: 60_000 }, async () => {
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
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  const held = await leases.acquire('k');
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
    const { leases } = await store.replica();
    const { leases: others } = await store.replica();
    const held = await leases.acquire('k');
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

eachSharedForm('the lease of a process that died becomes free when its time ends', async (t, store) => {
  const dying = await store.replica();
  const { leases } = await store.replica();
  const lost = await dying.leases.acquire('k', { ttl: 2_000 });
  dying.kill();
  const died = performance.now();
  const lease = await leases.acquire('k');
  const waited = performance.now() - died;
  t.true(waited > 1_000 && waited < 15_000, `${waited} ms`);
  t.true(lost.signal.aborted);
  await lease.release();
});

eachSharedForm('a holder that cannot renew learns of it before another has the lease', async (t, store) => {
  const dying = await store.replica();
  const { leases } = await store.replica();
  const lost = await dying.leases.acquire('k', { ttl: 2_000 });
  dying.kill();
  const isLost = new Promise((resolve) => lost.signal.addEventListener('abort', () => resolve('lost')));
  const isTaken = leases.acquire('k').then((lease) => lease.release().then(() => 'taken'));
  t.is(await Promise.race([isLost, isTaken]), 'lost');
  t.is((lost.signal.reason as { code: string }).code, 'lock.lost');
  await isTaken;
});

eachSharedForm('a process that died while it waited does not hold up the line', async (t, store) => {
  const holder = await store.replica();
  const dying = await store.replica();
  const { leases } = await store.replica();
  const held = await holder.leases.acquire('k');
  // Nobody hears of the dead; without an end of its wait this process would go on until the wait is over.
  const end = new AbortController();
  t.teardown(() => end.abort());
  dying.leases.acquire('k', { wait: 60_000, signal: end.signal }).catch(() => {});
  await until(async () => (await store.tickets('k')) === 1, PATIENT);
  dying.kill();
  const next = leases.acquire('k', { wait: 60_000 });
  await until(async () => (await store.tickets('k')) >= 1, PATIENT);
  const started = performance.now();
  await held.release();
  await (await next).release();
  t.true(performance.now() - started < 15_000);
});

eachForm('a lease is held for longer than its time', async (t, store) => {
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  // Longer than a busy machine stands still.
  const held = await leases.acquire('k', { ttl: 4_000 });
  const started = performance.now();
  await t.throwsAsync(others.acquire('k', { wait: 9_000 }), { code: 'lock.timeout' });
  t.true(performance.now() - started >= 8_900);
  t.false(held.signal.aborted);
  await held.release();
  t.false(held.signal.aborted);
});

eachForm('a release is for its own lease alone, however often it is called', async (t, store) => {
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  const first = await leases.acquire('k');
  await Promise.all([first.release(), first.release()]);
  const second = await others.acquire('k');
  await first.release();
  await first[Symbol.asyncDispose]();
  t.is(await leases.tryAcquire('k'), 'held');
  await second.release();
});

eachForm('trying takes a lease that is free, and waits for none', async (t, store) => {
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  const lease = granted(await leases.tryAcquire('k'));
  t.is(lease.key, 'k');
  t.is(await leases.tryAcquire('k'), 'held');
  t.is(await others.tryAcquire('k'), 'held');
  t.is(await store.tickets('k'), 0);
  await lease.release();
  const again = granted(await others.tryAcquire('k'));
  await again.release();
});

eachForm(
  'work under a lease gives it back when it throws, and its result when it does not',
  async (t, store) => {
    const { leases } = await store.replica();
    const failing = leases.withLease('k', {}, async () => {
      throw new Error('the work failed');
    });
    await t.throwsAsync(failing, { message: 'the work failed' });
    t.is(await leases.withLease('k', { wait: 5_000 }, async (lease) => lease.key), 'k');
  },
);

eachForm('the end loses and frees what is held, and refuses who waits', async (t, store) => {
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  const held = await leases.acquire('k');
  const waiting = t.throwsAsync(leases.acquire('k'), { code: 'lock.unavailable', message: /closed/ });
  t.true(await isWaiting(waiting));
  await leases.close();
  await waiting;
  t.is((held.signal.reason as { code: string }).code, 'lock.unavailable');
  await held.release();
  await t.throwsAsync(leases.acquire('k'), { code: 'lock.unavailable' });
  await t.throwsAsync(leases.tryAcquire('k'), { code: 'lock.unavailable' });
  if (others === leases) return;
  const free = await others.acquire('k', { wait: 5_000 });
  await free.release();
});

const reasonOf = ({ signal }: Lease) => (signal.reason as { code?: string } | undefined)?.code;

eachForm(
  'of fifty who ask at once in two processes exactly so many get a place as there are',
  async (t, store) => {
    const replicas = [(await store.replica()).leases, (await store.replica()).leases] as const;
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        replicas[index % 2 === 0 ? 0 : 1].tryAcquire('k', { name: `n${index}`, limit: 7 }),
      ),
    );
    t.is(outcomes.filter((outcome) => outcome === 'full').length, 43);
    t.is(outcomes.filter((outcome) => typeof outcome !== 'string').length, 7);
  },
);

eachForm(
  'places that come and go are never held by more than the limit, and none is forgotten',
  async (t, store) => {
    const replicas = [(await store.replica()).leases, (await store.replica()).leases] as const;
    let inside = 0;
    let most = 0;
    let times = 0;
    await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        for (let round = 0; round < 8; round += 1) {
          const outcome = await replicas[index % 2 === 0 ? 0 : 1].tryAcquire('k', {
            name: `n${index}`,
            limit: 5,
          });
          if (typeof outcome === 'string') continue;
          inside += 1;
          times += 1;
          most = Math.max(most, inside);
          await new Promise(setImmediate);
          inside -= 1;
          await outcome.release();
        }
      }),
    );
    t.true(most <= 5 && times >= 5, `${most} at once, ${times} in all`);
    const all = await Promise.all(
      [1, 2, 3, 4, 5].map((name) => replicas[0].tryAcquire('k', { name: `${name}`, limit: 5 })),
    );
    t.true(
      all.every((outcome) => typeof outcome !== 'string'),
      'all places are free again',
    );
    t.is(await replicas[1].tryAcquire('k', { name: '6', limit: 5 }), 'full');
  },
);

eachForm('more places than are made at one time', async (t, store) => {
  const { leases } = await store.replica();
  const take = (name: string) => leases.tryAcquire('k', { name, limit: 70 });
  const outcomes = [];
  for (let index = 0; index < 70; index += 1) outcomes.push(await take(`n${index}`));
  t.true(outcomes.every((outcome) => typeof outcome !== 'string'));
  t.is(await take('one more'), 'full');
});

eachForm('a name is held once, and free again after its release', async (t, store) => {
  const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
  const first = granted(await one.tryAcquire('k', { name: 'a', limit: 2 }));
  t.deepEqual([first.key, first.name], ['k', 'a']);
  t.is(await one.tryAcquire('k', { name: 'a', limit: 2 }), 'held');
  t.is(await two.tryAcquire('k', { name: 'a', limit: 2 }), 'held');
  t.is(await two.tryAcquire('k', { name: 'a', limit: 1 }), 'held', 'rather than full');
  granted(await two.tryAcquire('other', { name: 'a', limit: 1 }));
  await Promise.all([first.release(), first.release()]);
  const second = granted(await two.tryAcquire('k', { name: 'a', limit: 2 }));
  await first.release();
  await first[Symbol.asyncDispose]();
  t.is(await one.tryAcquire('k', { name: 'a', limit: 2 }), 'held', 'a release is for its own lease');
  t.false(second.signal.aborted);
});

eachForm('of two who ask for one name at once, one gets it', async (t, store) => {
  const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
  for (let round = 0; round < 5; round += 1) {
    const outcomes = await Promise.all(
      [one, two, one, two].map((leases) => leases.tryAcquire('k', { name: `a${round}`, limit: 100 })),
    );
    t.is(outcomes.filter((outcome) => outcome === 'held').length, 3, JSON.stringify(outcomes));
  }
});

eachForm('names and keys that differ in case, blanks or script are different', async (t, store) => {
  const { leases } = await store.replica();
  const texts = ['a', 'A', 'a ', 'ä', '日本', `${'x'.repeat(198)}😀`];
  for (const text of texts) {
    t.is(granted(await leases.tryAcquire('k', { name: text, limit: 10 })).name, text);
    t.is(granted(await leases.tryAcquire(text, { name: 'n', limit: 1 })).key, text);
  }
});

eachForm('with a limit of none nobody gets a place', async (t, store) => {
  const { leases } = await store.replica();
  t.is(await leases.tryAcquire('k', { name: 'a', limit: 0 }), 'full');
});

eachForm('what a holder notes is found by others while he holds it', async (t, store) => {
  const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
  t.is(await two.find('k', 'a'), undefined);
  const lease = granted(await one.tryAcquire('k', { name: 'a', limit: 1, note: 'of ünïcode "quoted"' }));
  granted(await one.tryAcquire('k2', { name: 'a', limit: 1 }));
  t.deepEqual(await two.find('k', 'a'), { note: 'of ünïcode "quoted"' });
  t.deepEqual(await two.find('k2', 'a'), { note: '' });
  t.is(await two.find('k', 'b'), undefined);
  await lease.release();
  t.is(await two.find('k', 'a'), undefined);
});

eachForm('all that is held under a key is listed, with names and notes', async (t, store) => {
  const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
  const listed = async () =>
    (await two.list('k'))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, note }) => [name, note]);
  t.deepEqual(await listed(), []);
  const a = granted(await one.tryAcquire('k', { name: 'a', limit: 9, note: 'ünï "quoted"' }));
  const b = granted(await two.tryAcquire('k', { name: 'b', limit: 9 }));
  const other = granted(await one.tryAcquire('k2', { name: 'c', limit: 9 }));
  t.deepEqual(await listed(), [
    ['a', 'ünï "quoted"'],
    ['b', ''],
  ]);
  await a.release();
  t.deepEqual(await listed(), [['b', '']]);
  await Promise.all([b.release(), other.release()]);
  await t.throwsAsync(two.list(''), { code: 'lock.invalid' });
});

eachForm('a revocation aborts the holder, who keeps his place until he gives it back', async (t, store) => {
  const { leases } = await store.replica();
  t.false(await leases.revoke('k', 'a'));
  const lease = granted(await leases.tryAcquire('k', { name: 'a', limit: 1 }));
  t.true(await leases.revoke('k', 'a'));
  t.true(lease.signal.aborted);
  t.is(reasonOf(lease), 'permit.revoked');
  t.is(await leases.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.true(await leases.revoke('k', 'a'), 'again');
  await lease.release();
  t.false(await leases.revoke('k', 'a'));
  const next = granted(await leases.tryAcquire('k', { name: 'a', limit: 1 }));
  t.false(next.signal.aborted);
});

eachSharedForm(
  'without events a revocation reaches another process with the next renewal',
  async (t, store) => {
    const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
    const lease = granted(await one.tryAcquire('k', { name: 'a', limit: 1, ttl: 1_500 }));
    t.true(await two.revoke('k', 'a'));
    await until(() => lease.signal.aborted, PATIENT);
    t.is(reasonOf(lease), 'permit.revoked');
    await lease.release();
    granted(await two.tryAcquire('k', { name: 'a', limit: 1 }));
  },
);

eachSharedForm('with signals it reaches another process at once', async (t, store) => {
  const { signals } = localSignals();
  const [one, two] = [await store.replica(signals), await store.replica(signals)];
  const lease = granted(await one.leases.tryAcquire('k', { name: 'a', limit: 2, ttl: 60_000 }));
  const other = granted(await one.leases.tryAcquire('k', { name: 'b', limit: 2, ttl: 60_000 }));
  t.true(await two.leases.revoke('k', 'a'));
  t.is(reasonOf(lease), 'permit.revoked');
  t.false(other.signal.aborted);
});

eachSharedForm(
  'a signal wakes those who wait in another process, and is sent only where they do',
  async (t, store) => {
    const { signals, sent, listeners } = localSignals();
    const [one, two] = [(await store.replica(signals)).leases, (await store.replica(signals)).leases];
    t.is(listeners.size, 2);
    await (await one.acquire('k')).release();
    t.deepEqual(sent, []);
    const held = await one.acquire('k');
    const next = two.acquire('k');
    await until(async () => (await store.tickets('k')) === 1, PATIENT);
    await held.release();
    await (await next).release();
    t.deepEqual(sent, ['freed k']);
    await two.close();
    t.is(listeners.size, 1);
  },
);

eachForm(
  'who waits for a name is served in turn, and who finds the others at the limit is refused',
  async (t, store) => {
    const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
    const first = await one.acquire('k', { name: 'a', limit: 2 });
    const served: string[] = [];
    const waiting = [one, two].map((leases, index) =>
      leases.acquire('k', { name: 'a', limit: 2 }).then(async (lease) => {
        served.push(`${index}`);
        await lease.release();
      }),
    );
    t.true(await isWaiting(waiting[0]!));
    const second = await two.acquire('k', { name: 'b', limit: 2 });
    await t.throwsAsync(one.acquire('k', { name: 'c', limit: 2 }), { code: 'lock.full' });
    t.deepEqual(served, []);
    await first.release();
    await Promise.all(waiting);
    t.is(served.length, 2);
    await second.release();
    await (await one.acquire('k', { name: 'c', limit: 1 })).release();
  },
);

eachSharedForm(
  'the place of a process that died is free when its lease ends, for its name too',
  async (t, store) => {
    const dying = await store.replica();
    const { leases } = await store.replica();
    const lost = granted(await dying.leases.tryAcquire('k', { name: 'a', limit: 1, ttl: 1_500 }));
    dying.kill();
    const died = performance.now();
    t.is(await leases.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
    t.is(await leases.tryAcquire('k', { name: 'a', limit: 1 }), 'held');
    await until(
      async () => typeof (await leases.tryAcquire('k', { name: 'a', limit: 1 })) !== 'string',
      PATIENT,
    );
    t.true(performance.now() - died > 1_000);
    t.true(lost.signal.aborted, 'and the holder was told before');
    t.is(reasonOf(lost), 'lock.lost');
    t.false(await leases.revoke('k', 'b'));
  },
);

eachSharedForm(
  'a name of the dead does not keep others out, nor itself where the limit is lower',
  async (t, store) => {
    const dying = await store.replica();
    const { leases } = await store.replica();
    for (const name of ['a', 'b'])
      granted(await dying.leases.tryAcquire('k', { name, limit: 2, ttl: 1_000 }));
    dying.kill();
    await until(
      async () => typeof (await leases.tryAcquire('k', { name: 'b', limit: 1 })) !== 'string',
      PATIENT,
    );
    t.is(await leases.tryAcquire('k', { name: 'a', limit: 1 }), 'full');
  },
);

eachForm('a place among others is held for longer than its time', async (t, store) => {
  const [one, two] = [(await store.replica()).leases, (await store.replica()).leases];
  const lease = granted(await one.tryAcquire('k', { name: 'a', limit: 1, ttl: 1_500 }));
  const started = performance.now();
  await until(() => performance.now() - started > 3_500, PATIENT);
  t.is(await two.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.false(lease.signal.aborted);
});

eachForm('the end loses and frees what has a name, and refuses who asks about it', async (t, store) => {
  const { leases } = await store.replica();
  const { leases: others } = await store.replica();
  const held = granted(await leases.tryAcquire('k', { name: 'a', limit: 1 }));
  await leases.close();
  t.is(reasonOf(held), 'lock.unavailable');
  await held.release();
  await t.throwsAsync(leases.tryAcquire('k', { name: 'a', limit: 1 }), { code: 'lock.unavailable' });
  await t.throwsAsync(leases.find('k', 'a'), { code: 'lock.unavailable' });
  await t.throwsAsync(leases.list('k'), { code: 'lock.unavailable' });
  await t.throwsAsync(leases.revoke('k', 'a'), { code: 'lock.unavailable' });
  if (others !== leases) granted(await others.tryAcquire('k', { name: 'a', limit: 1 }));
});
