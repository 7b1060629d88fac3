import { OTHER_TENANT, runOf } from '../states.ts';
import type { Define, Subject } from './subject.ts';

const LONG = 60_000;
/** Long enough for two statements on a machine that is busy. */
const SHORT = 2_000;

/** Who lives, by the store's clock, and what the dead leave behind. */
export function workerLeases(define: Define): void {
  const own = async ({ store }: Subject, owner: string, tenantId?: string) => {
    const run = runOf({ owner, ...(tenantId === undefined ? {} : { tenantId }) });
    await store.create({ state: run, events: [], sinks: [] });
    return { tenantId: run.tenantId, runId: run.id, owner };
  };

  define('runs of the living are no orphans, those of strangers are', async (t, subject) => {
    const { store } = subject;
    await store.join('alive', LONG);
    await own(subject, 'alive');
    await store.create({ state: runOf(), events: [], sinks: [] });
    t.deepEqual(await store.orphans(10), []);
    const strange = await own(subject, 'stranger', OTHER_TENANT);
    t.deepEqual(await store.orphans(10), [strange]);
    for (let n = 0; n < 3; n += 1) await own(subject, 'stranger');
    t.is((await store.orphans(2)).length, 2);
    t.is((await store.orphans(10)).length, 4);
  });

  define('a lease that is not renewed ends, and cannot be renewed any more', async (t, subject) => {
    const { store, eventually } = subject;
    await store.join('alive', LONG);
    await store.join('dying', LONG);
    const left = await own(subject, 'dying');
    await own(subject, 'alive');
    t.deepEqual(await store.orphans(10), []);
    t.true(await store.renew('dying', 300));
    await eventually(async () => (await store.orphans(10)).length > 0);
    t.deepEqual(await store.orphans(10), [left]);
    t.false(await store.renew('dying', LONG));
    t.deepEqual(await store.orphans(10), [left]);
    t.true(await store.renew('alive', LONG));
  });

  define('a lease that is renewed in time lasts', async (t, subject) => {
    const { store, eventually } = subject;
    await own(subject, 'alive');
    await own(subject, 'short');
    await store.join('alive', SHORT);
    t.true(await store.renew('alive', LONG));
    // Begun later: when it is over, the first one would have been over too.
    await store.join('short', SHORT);
    await eventually(async () => (await store.orphans(10)).length > 0);
    t.deepEqual(
      (await store.orphans(10)).map(({ owner }) => owner),
      ['short'],
    );
  });

  define('who leaves is forgotten; who comes again lives again', async (t, subject) => {
    const { store } = subject;
    await store.join('w', LONG);
    const left = await own(subject, 'w');
    await store.leave('w');
    t.false(await store.renew('w', LONG));
    t.deepEqual(await store.orphans(10), [left]);
    await store.leave('w');
    await store.join('w', LONG);
    await store.join('w', LONG);
    t.deepEqual(await store.orphans(10), []);
    t.false(await store.renew('unknown', LONG));
  });
}
