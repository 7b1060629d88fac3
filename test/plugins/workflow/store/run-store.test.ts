import test from 'ava';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { workflowTables } from '../../../../plugins/workflow/store/tables.ts';
import { eachDatabase, freshDatabase } from '../../../support/databases.ts';
import { runStoreSuite } from './run-store-suite.ts';
import { comparable, eventsOf, nextOf, OTHER_TENANT, runOf, stepOf, TENANT } from './states.ts';
import { databaseSubject, registered, storeKit } from './store-kit.ts';

runStoreSuite((title, run) =>
  eachDatabase(test, title, async (t, fresh) => run(t, await databaseSubject(t, fresh))),
);

eachDatabase(test, 'the migrations make what the entities say', async (t, fresh) => {
  const { database } = await storeKit(t, fresh);
  t.is(await database.schemaDrift(), '');
});

test('postgres: what belongs to tenants is under row-level security', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const { tables } = await storeKit(t, fresh);
  const guarded = await fresh.ask(
    `select relname from pg_class where relkind = 'r' and relforcerowsecurity and relname like 'workflow_%' order by 1`,
  );
  const owned = ['definitions', 'events', 'outbox', 'runs', 'starts', 'steps', 'versions'];
  t.deepEqual(
    guarded.map(({ relname }) => relname),
    owned.map((name) => `${tables.name}_${name}`),
  );
});

eachDatabase(test, 'two engines over one database know nothing of each other', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const further = createRunStore({ database, tables: await registered(database, 'execution') });
  const store = createRunStore({ database, tables });
  t.is(await database.schemaDrift(), '');
  const state = runOf({ owner: 'w', wakeAt: 1 }, [stepOf('a')]);
  const creation = {
    state,
    events: eventsOf(1, 1),
    sinks: ['hooks'],
    idempotency: { key: 'k', fingerprint: '1' },
  };
  t.is(await store.create(creation), 'created');
  t.is(await further.read({ tenantId: TENANT, runId: state.id }), undefined);
  t.deepEqual(await further.due(10), []);
  t.deepEqual(await further.orphans(10), []);
  t.is(await further.create(creation), 'created');
  t.is(await further.create(creation), 'exists');
});

eachDatabase(test, 'writes of others commit with a step, or not at all', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const store = createRunStore({ database, tables });
  const first = runOf({}, [stepOf('a')]);
  await store.create({ state: first, events: [], sinks: [] });
  const commit = (before: typeof first, also: 'writes' | 'fails') =>
    store.commit({
      before,
      after: nextOf(before, { seq: before.seq + 1 }, [stepOf('b')]),
      events: eventsOf(before.seq + 1, 1),
      sinks: ['hooks'],
      async also(entities) {
        await entities.insert(tables.starts, {
          keyDigest: `of ${before.revision}`,
          runId: first.id,
          fingerprint: '',
        });
        if (also === 'fails') throw new Error('not so');
      },
    });
  const written = () => database.forTenant(TENANT).count(tables.starts);
  const place = { tenantId: TENANT, runId: first.id };

  await t.throwsAsync(commit(first, 'fails'), { message: 'not so' });
  t.is(await written(), 0);
  t.deepEqual(comparable(await store.read(place)), comparable(first));
  t.true(await commit(first, 'writes'));
  t.is(await written(), 1);
  t.is((await store.read(place))?.revision, 2);
  t.false(await commit(first, 'writes'));
  t.is(await written(), 1);
  t.is((await store.read(place))?.steps.size, 2);
});

eachDatabase(test, 'who joins removes long dead workers, but those that own runs', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const store = createRunStore({ database, tables });
  for (const worker of ['long dead', 'dead owner', 'alive']) await store.join(worker, 60_000);
  await store.create({ state: runOf({ owner: 'dead owner' }), events: [], sinks: [] });
  const hoursAgo = (await database.now()) - 4 * 3_600_000;
  const dead = { id: { $in: ['long dead', 'dead owner'] } };
  await database.system().nativeUpdate(tables.workers, dead, { expiresAt: hoursAgo });
  await store.join('new', 60_000);
  const left = await database.system().find(tables.workers, {}, { orderBy: { id: 'asc' } });
  t.deepEqual(
    left.map(({ id }) => id),
    ['alive', 'dead owner', 'new'],
  );
});

eachDatabase(test, 'a run of another tenant with the same id is another run', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const store = createRunStore({ database, tables });
  const run = runOf();
  await store.create({ state: run, events: [], sinks: [] });
  const other = { ...run, tenantId: OTHER_TENANT, input: { of: 'the other' } };
  t.is(await store.create({ state: other, events: [], sinks: [] }), 'created');
  t.deepEqual(comparable(await store.read({ tenantId: TENANT, runId: run.id })), comparable(run));
  t.deepEqual(comparable(await store.read({ tenantId: OTHER_TENANT, runId: run.id })), comparable(other));
});

test('the name of an engine is short and plain', (t) => {
  for (const name of ['', 'A', '1a', 'a-b', 'a_b', 'abcdefghijklmnopq', 'a;drop']) {
    t.throws(() => workflowTables(name), { instanceOf: TypeError });
  }
  t.is(workflowTables('abcdefghijklmnop').runs.meta.tableName, 'abcdefghijklmnop_runs');
});

const DAYS = 40 * 24 * 3_600_000;

eachDatabase(test, 'runs of a dead worker are found after the clock was set back', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const store = createRunStore({ database, tables });
  for (const worker of ['dead', 'alive']) {
    await store.join(worker, 600_000);
    await store.create({ state: runOf({ owner: worker }, [stepOf('a')]), events: [], sinks: [] });
  }
  const ahead = { expiresAt: (await database.now()) + DAYS };
  await database.system().nativeUpdate(tables.workers, { id: 'dead' }, ahead);
  t.deepEqual(await store.orphans(10), []);
  await store.join('next', 1_000);
  const { expiresAt } = await database.system().findOneOrFail(tables.workers, { id: 'dead' });
  t.true(expiresAt <= (await database.now()) + 1_000);
  const lasting = await database.system().findOneOrFail(tables.workers, { id: 'alive' });
  t.true(lasting.expiresAt > (await database.now()) + 500_000);
});

eachDatabase(test, 'what may begin is found after the clock was set back', async (t, fresh) => {
  const { database, tables } = await storeKit(t, fresh);
  const store = createRunStore({ database, tables });
  const now = await database.now();
  const ahead = { wakeAt: now + DAYS, updatedAt: now + DAYS };
  const stuck = runOf(ahead, [stepOf('a')]);
  const others = [
    runOf(ahead, [stepOf('a', { status: 'waiting', dueAt: now + DAYS })]),
    runOf({ ...ahead, updatedAt: now }, [stepOf('a', { readyAt: now + DAYS })]),
    runOf({ ...ahead, owner: 'w' }, [stepOf('a')]),
  ];
  for (const state of [stuck, ...others]) await store.create({ state, events: [], sinks: [] });
  t.deepEqual(await store.due(10), []);
  await store.join('next', 1_000);
  t.deepEqual(await store.due(10), [{ tenantId: TENANT, runId: stuck.id }]);
});
