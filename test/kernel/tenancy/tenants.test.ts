import test from 'ava';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Database } from '../../../foundation/data/database.ts';
import { tellLifecycle } from '../../../foundation/tables/tell-lifecycle.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { createTenants, isLive } from '../../../kernel/tenancy/tenants.ts';
import { fakeDurableEvents } from '../../../testing/fakes/fake-durable-events.ts';
import { type ManualClock, manualClock } from '../../../testing/manual-clock.ts';
import { eachDatabase } from '../../support/databases.ts';
import { openKernelDatabase } from './open-kernel-database.ts';

function replica(database: Database, clock: ManualClock) {
  const forgotten: string[] = [];
  const tenants = createTenants({
    database,
    clock,
    ids: createIds(clock),
    lifecycle: tellLifecycle(fakeDurableEvents()),
    forgetIdentities: (id) => forgotten.push(id),
  });
  return { tenants, forgotten };
}

const later = (clock: ManualClock, milliseconds: number) => new Date(clock.now() + milliseconds);

eachDatabase(test, 'a new tenant has the defaults of its plan, and is found', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { tenants } = replica(database, clock);
  const made = await tenants.create({ name: 'Acme', plan: undefined });
  t.like(made, {
    name: 'Acme',
    plan: 'free',
    rateLimitRpm: 60,
    maxSessions: 100,
    deletedAt: null,
    purgeAfter: null,
  });
  t.deepEqual(await tenants.get(made.id), made);
  t.deepEqual(tenants.get(made.id), made, 'the second time without a promise');
  t.like(await tenants.create({ name: 'B', plan: 'pro', rateLimitRpm: 1, maxSessions: 2 }), {
    plan: 'pro',
    rateLimitRpm: 1,
    maxSessions: 2,
  });
  t.like(await tenants.get(DEFAULT_TENANT_ID), {
    name: 'Default Tenant',
    rateLimitRpm: 120,
    maxSessions: 10,
  });
  t.is(await tenants.get('nobody'), undefined);
});

eachDatabase(
  test,
  'an update changes what is given, blanks nothing, and is seen at once',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const clock = manualClock();
    const { tenants } = replica(database, clock);
    const made = await tenants.create({ name: 'Acme' });
    await tenants.get(made.id);
    clock.advance(10);
    const changed = await tenants.update(made.id, { plan: 'pro', name: undefined });
    t.deepEqual(changed, { ...made, plan: 'pro', updatedAt: new Date(clock.now()) });
    t.deepEqual(await tenants.get(made.id), changed);
    t.deepEqual(await tenants.update(made.id, {}), changed);
    const foreign = { id: DEFAULT_TENANT_ID, deletedAt: new Date(0) };
    t.deepEqual(await tenants.update(made.id, foreign as object), changed, 'no other field is written');
    await t.throwsAsync(tenants.update('nobody', { plan: 'pro' }), { code: 'tenant.not-found' });
  },
);

eachDatabase(
  test,
  'lists are newest first, without deleted tenants unless asked, narrowed to one',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const clock = manualClock();
    const { tenants } = replica(database, clock);
    const made = [];
    for (const name of ['a', 'b', 'c']) {
      made.push(await tenants.create({ name }));
      clock.advance(1);
    }
    const [a, b, c] = made.map(({ id }) => id) as [string, string, string];
    await tenants.scheduleDelete(b, later(clock, 1000));
    const ids = async (options: Parameters<typeof tenants.list>[0]) => {
      const page = await tenants.list(options);
      return [page.records.map(({ id }) => id), page.total];
    };
    t.deepEqual(await ids({ limit: 10, offset: 0 }), [[c, a, DEFAULT_TENANT_ID], 3]);
    t.deepEqual(await ids({ limit: 2, offset: 1, includeDeleted: true }), [[b, a], 4]);
    t.deepEqual(await ids({ limit: 10, offset: 0, only: a }), [[a], 1]);
    t.deepEqual(await ids({ limit: 10, offset: 0, only: b }), [[], 0]);
    t.deepEqual(await ids({ limit: 0, offset: 0 }), [[], 3]);
  },
);

eachDatabase(
  test,
  'a deleted tenant is no longer live, at once here and within a second elsewhere',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    await using second = await openKernelDatabase(fresh);
    const clock = manualClock();
    const here = replica(database, clock);
    const elsewhere = replica(second, clock);
    const { id } = await here.tenants.create({ name: 'Acme' });
    t.true(isLive(await here.tenants.get(id)));
    t.true(isLive(await elsewhere.tenants.get(id)));
    await here.tenants.scheduleDelete(id, later(clock, 5000));
    t.deepEqual(here.forgotten, [id]);
    t.false(isLive(await here.tenants.get(id)));
    t.false(isLive(undefined));
    clock.advance(999);
    t.true(isLive(await elsewhere.tenants.get(id)));
    clock.advance(1);
    t.false(isLive(await elsewhere.tenants.get(id)));
  },
);

eachDatabase(
  test,
  'a repeated delete gives the first answer, and changes are refused meanwhile',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const clock = manualClock();
    const { tenants } = replica(database, clock);
    const { id } = await tenants.create({ name: 'Acme' });
    const purgeAfter = later(clock, 5000);
    const first = await tenants.scheduleDelete(id, purgeAfter);
    t.deepEqual(first.purgeAfter, purgeAfter);
    clock.advance(100);
    t.deepEqual(await tenants.scheduleDelete(id, later(clock, 9000)), first);
    await t.throwsAsync(tenants.update(id, { plan: 'pro' }), { code: 'tenant.deleted' });
    await t.throwsAsync(tenants.scheduleDelete('nobody', purgeAfter), { code: 'tenant.not-found' });
  },
);

eachDatabase(test, 'the default tenant cannot be deleted', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const { tenants } = replica(database, manualClock());
  await t.throwsAsync(tenants.scheduleDelete(DEFAULT_TENANT_ID, new Date()), { code: 'tenant.default' });
  t.true(isLive(await tenants.get(DEFAULT_TENANT_ID)));
});

eachDatabase(test, 'a delete can be taken back until its purge is due', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { tenants } = replica(database, clock);
  const { id } = await tenants.create({ name: 'Acme' });
  await t.throwsAsync(tenants.restore(id), { code: 'tenant.not-deleted' });
  await tenants.scheduleDelete(id, later(clock, 5000));
  clock.advance(4999);
  t.like(await tenants.restore(id), { deletedAt: null, purgeAfter: null });
  t.true(isLive(await tenants.get(id)));
  await tenants.scheduleDelete(id, later(clock, 5000));
  clock.advance(5000);
  await t.throwsAsync(tenants.restore(id), { code: 'tenant.purged' });
  await t.throwsAsync(tenants.restore('nobody'), { code: 'tenant.not-found' });
  t.false(isLive(await tenants.get(id)));
});

eachDatabase(test, 'simultaneous changes of different fields are all kept', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  await using second = await openKernelDatabase(fresh);
  const clock = manualClock();
  const [one, two] = [replica(database, clock).tenants, replica(second, clock).tenants];
  const { id } = await one.create({ name: 'Acme' });
  await Promise.all([
    one.update(id, { plan: 'pro' }),
    two.update(id, { rateLimitRpm: 7 }),
    one.update(id, { maxSessions: 8 }),
    two.update(id, { name: 'New' }),
  ]);
  t.like(await one.get(id), { plan: 'pro', rateLimitRpm: 7, maxSessions: 8, name: 'New' });
});
