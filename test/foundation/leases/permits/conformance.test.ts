import test, { type ExecutionContext } from 'ava';
import type { Permit } from '../../../../foundation/leases/permits/permits.ts';
import { until } from '../../../support/until.ts';
import { FORMS, type Form, granted, type SharedStore } from './forms.ts';

/** Milliseconds; for a busy machine. */
const PATIENT = 20_000;

function eachForm(title: string, run: (t: ExecutionContext, store: SharedStore) => Promise<void>): void {
  defineFor(FORMS, title, run);
}

/** One test for each form in which several processes share permits. */
function eachSharedForm(
  title: string,
  run: (t: ExecutionContext, store: SharedStore) => Promise<void>,
): void {
  const shared = FORMS.filter((form) => form.isShared);
  defineFor(shared, title, run);
}

function defineFor(forms: readonly Form[], title: string, run: Parameters<typeof eachForm>[1]): void {
  for (const form of forms) {
    test(`${form.name}: ${title}`, async (t) => {
      const store = await form.open(t);
      if (store !== undefined) await run(t, store);
    });
  }
}

const reasonOf = ({ signal }: Permit) => (signal.reason as { code?: string } | undefined)?.code;

eachForm(
  'of fifty who ask at once in two processes exactly so many get a place as there are',
  async (t, store) => {
    const replicas = [(await store.replica()).permits, (await store.replica()).permits] as const;
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
    const replicas = [(await store.replica()).permits, (await store.replica()).permits] as const;
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
  const { permits } = await store.replica();
  const take = (name: string) => permits.tryAcquire('k', { name, limit: 70 });
  const outcomes = [];
  for (let index = 0; index < 70; index += 1) outcomes.push(await take(`n${index}`));
  t.true(outcomes.every((outcome) => typeof outcome !== 'string'));
  t.is(await take('one more'), 'full');
});

eachForm('a name is held once, and free again after its release', async (t, store) => {
  const [one, two] = [(await store.replica()).permits, (await store.replica()).permits];
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
  t.is(await one.tryAcquire('k', { name: 'a', limit: 2 }), 'held', 'a release is for its own permit');
  t.false(second.signal.aborted);
});

eachForm('of two who ask for one name at once, one gets it', async (t, store) => {
  const [one, two] = [(await store.replica()).permits, (await store.replica()).permits];
  for (let round = 0; round < 5; round += 1) {
    const outcomes = await Promise.all(
      [one, two, one, two].map((permits) => permits.tryAcquire('k', { name: `a${round}`, limit: 100 })),
    );
    t.is(outcomes.filter((outcome) => outcome === 'held').length, 3, JSON.stringify(outcomes));
  }
});

eachForm('names and keys that differ in case, blanks or script are different', async (t, store) => {
  const { permits } = await store.replica();
  const texts = ['a', 'A', 'a ', 'ä', '日本', `${'x'.repeat(198)}😀`];
  for (const text of texts) {
    t.is(granted(await permits.tryAcquire('k', { name: text, limit: 10 })).name, text);
    t.is(granted(await permits.tryAcquire(text, { name: 'n', limit: 1 })).key, text);
  }
});

eachForm('with a limit of none nobody gets a place', async (t, store) => {
  const { permits } = await store.replica();
  t.is(await permits.tryAcquire('k', { name: 'a', limit: 0 }), 'full');
});

eachForm('what a holder notes is found by others while he holds it', async (t, store) => {
  const [one, two] = [(await store.replica()).permits, (await store.replica()).permits];
  t.is(await two.find('k', 'a'), undefined);
  const permit = granted(await one.tryAcquire('k', { name: 'a', limit: 1, note: 'of ünïcode "quoted"' }));
  granted(await one.tryAcquire('k2', { name: 'a', limit: 1 }));
  t.deepEqual(await two.find('k', 'a'), { note: 'of ünïcode "quoted"' });
  t.deepEqual(await two.find('k2', 'a'), { note: '' });
  t.is(await two.find('k', 'b'), undefined);
  await permit.release();
  t.is(await two.find('k', 'a'), undefined);
});

eachForm('a revocation aborts the holder, who keeps his place until he gives it back', async (t, store) => {
  const { permits } = await store.replica();
  t.false(await permits.revoke('k', 'a'));
  const permit = granted(await permits.tryAcquire('k', { name: 'a', limit: 1 }));
  t.true(await permits.revoke('k', 'a'));
  t.true(permit.signal.aborted);
  t.is(reasonOf(permit), 'permit.revoked');
  t.is(await permits.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.true(await permits.revoke('k', 'a'), 'again');
  await permit.release();
  t.false(await permits.revoke('k', 'a'));
  const next = granted(await permits.tryAcquire('k', { name: 'a', limit: 1 }));
  t.false(next.signal.aborted);
});

eachSharedForm(
  'without events a revocation reaches another process with the next renewal',
  async (t, store) => {
    const [one, two] = [(await store.replica()).permits, (await store.replica()).permits];
    const permit = granted(await one.tryAcquire('k', { name: 'a', limit: 1, lease: 1_500 }));
    t.true(await two.revoke('k', 'a'));
    await until(() => permit.signal.aborted, PATIENT);
    t.is(reasonOf(permit), 'permit.revoked');
    await permit.release();
    granted(await two.tryAcquire('k', { name: 'a', limit: 1 }));
  },
);

eachSharedForm('with events it reaches another process at once', async (t, store) => {
  const listeners = new Set<(ticket: string) => void>();
  const revocations = {
    notify: (ticket: string) => {
      for (const listener of listeners) listener(ticket);
    },
    subscribe: (listener: (ticket: string) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const [one, two] = [await store.replica({ revocations }), await store.replica({ revocations })];
  const permit = granted(await one.permits.tryAcquire('k', { name: 'a', limit: 2, lease: 60_000 }));
  const other = granted(await one.permits.tryAcquire('k', { name: 'b', limit: 2, lease: 60_000 }));
  t.true(await two.permits.revoke('k', 'a'));
  t.is(reasonOf(permit), 'permit.revoked');
  t.false(other.signal.aborted);
});

eachSharedForm(
  'the place of a process that died is free when its lease ends, for its name too',
  async (t, store) => {
    const dying = await store.replica();
    const { permits } = await store.replica();
    const lost = granted(await dying.permits.tryAcquire('k', { name: 'a', limit: 1, lease: 1_500 }));
    dying.kill();
    const died = performance.now();
    t.is(await permits.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
    t.is(await permits.tryAcquire('k', { name: 'a', limit: 1 }), 'held');
    await until(
      async () => typeof (await permits.tryAcquire('k', { name: 'a', limit: 1 })) !== 'string',
      PATIENT,
    );
    t.true(performance.now() - died > 1_000);
    t.true(lost.signal.aborted, 'and the holder was told before');
    t.is(reasonOf(lost), 'permit.lost');
    t.false(await permits.revoke('k', 'b'));
  },
);

eachSharedForm(
  'a name of the dead does not keep others out, nor itself where the limit is lower',
  async (t, store) => {
    const dying = await store.replica();
    const { permits } = await store.replica();
    for (const name of ['a', 'b'])
      granted(await dying.permits.tryAcquire('k', { name, limit: 2, lease: 1_000 }));
    dying.kill();
    await until(
      async () => typeof (await permits.tryAcquire('k', { name: 'b', limit: 1 })) !== 'string',
      PATIENT,
    );
    t.is(await permits.tryAcquire('k', { name: 'a', limit: 1 }), 'full');
  },
);

eachForm('a place is held for longer than its lease', async (t, store) => {
  const [one, two] = [(await store.replica()).permits, (await store.replica()).permits];
  const permit = granted(await one.tryAcquire('k', { name: 'a', limit: 1, lease: 1_500 }));
  const started = performance.now();
  await until(() => performance.now() - started > 3_500, PATIENT);
  t.is(await two.tryAcquire('k', { name: 'b', limit: 1 }), 'full');
  t.false(permit.signal.aborted);
});

eachForm('the end loses and frees what is held, and refuses who asks', async (t, store) => {
  const { permits } = await store.replica();
  const { permits: others } = await store.replica();
  const held = granted(await permits.tryAcquire('k', { name: 'a', limit: 1 }));
  await permits.close();
  t.is(reasonOf(held), 'permit.unavailable');
  await held.release();
  await t.throwsAsync(permits.tryAcquire('k', { name: 'a', limit: 1 }), { code: 'permit.unavailable' });
  await t.throwsAsync(permits.find('k', 'a'), { code: 'permit.unavailable' });
  await t.throwsAsync(permits.revoke('k', 'a'), { code: 'permit.unavailable' });
  if (others !== permits) granted(await others.tryAcquire('k', { name: 'a', limit: 1 }));
});
