import test, { type ExecutionContext } from 'ava';
import type { Graph } from '../../../../plugins/workflow/contract.ts';
import type { StoredDefinition } from '../../../../plugins/workflow/store/definition-store.ts';
import { createDefinitionStore } from '../../../../plugins/workflow/store/definition-store.ts';
import { createVersions } from '../../../../plugins/workflow/store/versions.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { NASTY, OTHER_TENANT, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

const GRAPH: Graph = { nodes: [{ id: 'a', type: 'start', config: NASTY }], edges: [] };
const EMPTY: Graph = { nodes: [], edges: [] };

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const store = createDefinitionStore(kit);
  const create = (name = 'Invoices', tenantId = TENANT) =>
    store.create(tenantId, { name, description: 'all of them', graph: GRAPH, createdBy: 'user-1' });
  return { ...kit, store, create, versions: createVersions(kit) };
}

eachDatabase(test, 'a definition comes back as it was written, for its tenant alone', async (t, fresh) => {
  const { store, create, clock } = await open(t, fresh);
  const created = await create('nul \0 half \ud800');
  t.like(created, {
    status: 'draft',
    latestVersion: null,
    revision: 1,
    createdBy: 'user-1',
    tenantId: TENANT,
  });
  t.deepEqual([created.createdAt, created.updatedAt], [clock.now(), clock.now()]);
  t.deepEqual(await store.get(TENANT, created.id), created);
  t.is(JSON.stringify((await store.get(TENANT, created.id))?.graph), JSON.stringify(GRAPH));
  t.is(await store.get(OTHER_TENANT, created.id), undefined);
  t.is(await store.get(TENANT, '\0'), undefined);
});

eachDatabase(
  test,
  'a change is stored over the revision that it began with, and over no other',
  async (t, fresh) => {
    const { store, create, clock } = await open(t, fresh);
    const first = await create();
    clock.advance(5);
    const second = await store.update(first, { name: 'Bills' });
    t.deepEqual(second, { ...first, name: 'Bills', revision: 2, updatedAt: clock.now() });
    t.deepEqual(await store.get(TENANT, first.id), second);
    t.is(await store.update(first, { name: 'late' }), undefined);
    t.is(await store.archive(first), undefined);
    t.is(await store.publish(first, 'p'), undefined);
    t.false(await store.delete(first));
    t.is(await store.update({ ...second!, tenantId: OTHER_TENANT }, { name: 'foreign' }), undefined);
    t.deepEqual(await store.get(TENANT, first.id), second);
    const races = await Promise.all(
      Array.from({ length: 6 }, (_, n) => store.update(second!, { name: `${n}` })),
    );
    t.is(races.filter((after) => after !== undefined).length, 1);
  },
);

eachDatabase(test, 'publishing makes a version of the graph as it is then', async (t, fresh) => {
  const { store, create, versions, clock } = await open(t, fresh);
  const draft = await create();
  const published = await store.publish(draft, 'publisher');
  const expected = { definitionId: draft.id, version: 1, publishedBy: 'publisher' };
  t.like(published?.version, { ...expected, publishedAt: clock.now() });
  t.deepEqual(published?.version.graph, GRAPH);
  t.like(published?.definition, { status: 'published', latestVersion: 1, revision: 2 });
  t.deepEqual(await store.get(TENANT, draft.id), published?.definition);
  t.deepEqual(await versions.ofNumber(TENANT, draft.id, 1), published?.version);
  const again = await store.publish(
    (await store.update(published!.definition, { graph: EMPTY }))!,
    'publisher',
  );
  t.is(again?.version.version, 2);
  t.deepEqual((await versions.ofNumber(TENANT, draft.id, 2))?.graph, EMPTY);
  t.deepEqual(await versions.get(TENANT, published!.version.id), published?.version);
  t.is(await versions.ofNumber(OTHER_TENANT, draft.id, 1), undefined);
  const archived = await store.archive(again!.definition);
  t.like(archived, { status: 'archived', latestVersion: 2, revision: 5 });
  t.deepEqual(await store.get(TENANT, draft.id), archived);
});

eachDatabase(test, 'of many who publish one revision, one makes a version', async (t, fresh) => {
  const { store, create, versions } = await open(t, fresh);
  const draft = await create();
  const published = await Promise.all(Array.from({ length: 6 }, () => store.publish(draft, 'p')));
  t.is(published.filter((one) => one !== undefined).length, 1);
  t.is((await versions.list(TENANT, draft.id, { limit: 9, offset: 0 })).total, 1);
});

eachDatabase(
  test,
  'publishing and versions of other content do not take numbers from each other',
  async (t, fresh) => {
    const { store, create, versions } = await open(t, fresh);
    let definition: StoredDefinition = await create();
    const { id: definitionId } = definition;
    const ensured = Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        versions.ensure({
          tenantId: TENANT,
          definitionId,
          publishedBy: 'e',
          graph: { nodes: [{ id: `${n}`, type: 'end' }], edges: [] },
        }),
      ),
    );
    for (let n = 0; n < 5; n += 1) definition = (await store.publish(definition, 'p'))!.definition;
    await ensured;
    const { versions: listed } = await versions.list(TENANT, definitionId, { limit: 99, offset: 0 });
    t.deepEqual(
      listed.map(({ version }) => version),
      Array.from({ length: 15 }, (_, n) => 15 - n),
    );
    const { latestVersion } = definition;
    t.is((await versions.ofNumber(TENANT, definitionId, latestVersion!))?.publishedBy, 'p');
  },
);

eachDatabase(test, 'only what was never published is deleted', async (t, fresh) => {
  const { store, create } = await open(t, fresh);
  const draft = await create();
  const published = (await store.publish(await create(), 'p'))!.definition;
  t.false(await store.delete(published));
  t.false(await store.delete({ ...draft, tenantId: OTHER_TENANT }));
  t.true(await store.delete(draft));
  t.false(await store.delete(draft));
  t.is(await store.get(TENANT, draft.id), undefined);
  t.deepEqual(await store.get(TENANT, published.id), published);
});

eachDatabase(test, 'definitions are listed newest first, and taken out and erased all', async (t, fresh) => {
  const { database, store, create, clock } = await open(t, fresh);
  const created: StoredDefinition[] = [];
  for (let n = 0; n < 230; n += 1) {
    if (n % 120 === 0) clock.advance(10);
    created.push(await create(`${n}`));
  }
  const foreign = await create('foreign', OTHER_TENANT);
  const order = (a: StoredDefinition, b: StoredDefinition) =>
    a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  const oldestFirst = created.toSorted(order).map(({ id }) => id);
  const page = await store.list(TENANT, { limit: 3, offset: 1 });
  t.is(page.total, 230);
  t.deepEqual(
    page.definitions.map(({ id }) => id),
    oldestFirst.toReversed().slice(1, 4),
  );
  const all: string[] = [];
  for await (const { id } of store.all(TENANT)) all.push(id);
  t.deepEqual(all, oldestFirst);
  t.is(await database.forTenant(TENANT).transaction((entities) => store.erase(entities)), 230);
  t.is((await store.list(TENANT, { limit: 3, offset: 0 })).total, 0);
  t.deepEqual(await store.get(OTHER_TENANT, foreign.id), foreign);
});
