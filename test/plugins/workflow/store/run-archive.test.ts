import test, { type ExecutionContext } from 'ava';
import { createRunArchive } from '../../../../plugins/workflow/store/run-archive.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { createVersions } from '../../../../plugins/workflow/store/versions.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { comparable, eventsOf, nextOf, OTHER_TENANT, runOf, stepOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const store = createRunStore(kit);
  const start = async (startedBy: string, given: Parameters<typeof runOf>[0] = {}) => {
    const state = runOf({ startedBy, seq: 2, ...given }, [stepOf('a'), stepOf('b')]);
    const idempotency = { key: state.id, fingerprint: '' };
    await store.create({ state, events: eventsOf(1, 2), sinks: ['hooks'], idempotency });
    return state;
  };
  return { ...kit, store, start, archive: createRunArchive(kit) };
}

type Archive = ReturnType<typeof createRunArchive>;

async function taken(archive: Archive, tenantId: string, userId?: string) {
  const runs = [];
  for await (const one of archive.all(tenantId, { userId })) runs.push(one);
  return runs;
}

eachDatabase(test, 'all runs are taken out, each once, with everything', async (t, fresh) => {
  const { archive, start } = await open(t, fresh);
  const runs = [];
  // More than a page of one moment, and some of others.
  for (let n = 0; n < 250; n += 1) {
    runs.push(await start(n % 10 === 0 ? 'rare' : 'often', { startedAt: n < 230 ? 5 : 300 - n }));
  }
  await start('rare', { tenantId: OTHER_TENANT });
  const all = await taken(archive, TENANT);
  t.deepEqual(all.map(({ run }) => run.id).sort(), runs.map(({ id }) => id).sort());
  t.deepEqual(
    all.map(({ run }) => run.startedAt),
    runs.map(({ startedAt }) => startedAt).sort((a, b) => a - b),
  );
  const [first] = all;
  t.deepEqual(comparable(first!.run), comparable(runs.find(({ id }) => id === first!.run.id)));
  t.deepEqual(first!.events, eventsOf(1, 2));
  t.is((await taken(archive, TENANT, 'rare')).length, 25);
  t.is((await taken(archive, TENANT, 'nobody\0')).length, 0);
});

eachDatabase(test, 'long histories are taken out whole', async (t, fresh) => {
  const { archive, store } = await open(t, fresh);
  await store.create({ state: runOf({ seq: 2_500 }), events: eventsOf(1, 2_500), sinks: [] });
  const [one] = await taken(archive, TENANT);
  t.deepEqual(
    one!.events.map(({ seq }) => seq),
    Array.from({ length: 2_500 }, (_, n) => n + 1),
  );
});

eachDatabase(test, 'runs of one person are deleted with all that belongs to them', async (t, fresh) => {
  const { archive, database, store, start, tables, clock, ids } = await open(t, fresh);
  const versions = createVersions({ database, tables, clock, ids });
  await versions.ensure({
    tenantId: TENANT,
    definitionId: 'd',
    graph: { nodes: [], edges: [] },
    publishedBy: 'p',
  });
  const gone = [];
  for (let n = 0; n < 205; n += 1) gone.push(await start('leaver'));
  const stays = await start('stayer');
  const foreign = await start('leaver', { tenantId: OTHER_TENANT });
  const erase = (userId?: string) =>
    database.forTenant(TENANT).transaction((entities) => archive.erase(entities, { userId }));
  t.deepEqual(await erase('leaver'), { runs: 205, steps: 410, events: 410, versions: 0 });
  t.deepEqual(await erase('leaver'), { runs: 0, steps: 0, events: 0, versions: 0 });
  const count = (name: 'runs' | 'steps' | 'events' | 'starts' | 'outbox' | 'versions', tenantId = TENANT) =>
    database.forTenant(tenantId).count(tables[name] as typeof tables.runs);
  for (const [name, left] of [
    ['runs', 1],
    ['steps', 2],
    ['events', 2],
    ['starts', 1],
    ['outbox', 1],
    ['versions', 1],
  ] as const) {
    t.is(await count(name), left, name);
    t.is(await count(name, OTHER_TENANT), name === 'versions' ? 0 : left, name);
  }
  const [lost] = gone as [(typeof gone)[0]];
  const commit = (before = lost) =>
    store.commit({
      before,
      after: nextOf(before, { seq: 3 }, [stepOf('c')]),
      events: eventsOf(3, 1),
      sinks: ['hooks'],
    });
  t.false(await commit());
  t.true(await commit(stays));
  t.is((await start('leaver')).startedBy, 'leaver');
  t.deepEqual(await erase(), { runs: 2, steps: 5, events: 5, versions: 1 });
  for (const name of ['runs', 'steps', 'events', 'starts', 'outbox', 'versions'] as const) {
    t.is(await count(name), 0, name);
  }
  t.deepEqual(
    comparable(await store.read({ tenantId: OTHER_TENANT, runId: foreign.id })),
    comparable(foreign),
  );
});

eachDatabase(
  test,
  'runs that were started for a user are the user’s, and those of the identity too, each once',
  async (t, fresh) => {
    const { archive, database, start } = await open(t, fresh);
    const [own, foreign] = [await start('app', { userId: 'ada' }), await start('ada', { userId: 'ada' })];
    const others = [await start('app', { userId: 'bob' }), await start('app')];
    const found = async (userId: string) =>
      (await taken(archive, TENANT, userId)).map(({ run }) => run.id).sort();
    t.deepEqual(await found('ada'), [own.id, foreign.id].sort());
    t.deepEqual(await found('app'), [own.id, ...others.map(({ id }) => id)].sort());
    const erase = (userId: string) =>
      database.forTenant(TENANT).transaction((entities) => archive.erase(entities, { userId }));
    t.is((await erase('ada')).runs, 2);
    t.deepEqual(await found('app'), others.map(({ id }) => id).sort());
  },
);

eachDatabase(test, 'what is deleted in a transaction that fails is still there', async (t, fresh) => {
  const { archive, database, start } = await open(t, fresh);
  await start('leaver');
  await t.throwsAsync(
    database.forTenant(TENANT).transaction(async (entities) => {
      t.is((await archive.erase(entities, {})).runs, 1);
      throw new Error('not so');
    }),
    { message: 'not so' },
  );
  t.is((await taken(archive, TENANT)).length, 1);
});

eachDatabase(test, 'a run that goes on while it is deleted leaves nothing behind', async (t, fresh) => {
  const { archive, database, store, start, tables } = await open(t, fresh);
  for (let round = 0; round < 5; round += 1) {
    let state = await start('leaver');
    let isGone = false;
    const goOn = async () => {
      for (let n = 0; !isGone; n += 1) {
        const after = nextOf(state, { seq: state.seq + 1 }, [stepOf(`n${n}`)]);
        const events = eventsOf(after.seq, 1);
        if (!(await store.commit({ before: state, after, events, sinks: ['hooks'] }))) return;
        state = after;
      }
    };
    const going = goOn();
    const erase = () => database.forTenant(TENANT).transaction((entities) => archive.erase(entities, {}));
    t.is((await erase()).runs, 1);
    isGone = true;
    await going;
    t.is(await database.forTenant(TENANT).count(tables.steps), 0);
    t.is(await database.forTenant(TENANT).count(tables.events), 0);
    t.is(await database.forTenant(TENANT).count(tables.outbox), 0);
  }
});
