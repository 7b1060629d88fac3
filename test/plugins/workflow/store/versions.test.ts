import test, { type ExecutionContext } from 'ava';
import type { Graph } from '../../../../plugins/workflow/contract.ts';
import { createVersions } from '../../../../plugins/workflow/store/versions.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { NASTY, OTHER_TENANT, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

const graphOf = (prompt: string): Graph => ({
  nodes: [
    { id: 'a', type: 'start' },
    { id: 'b', type: 'agent_task', config: { prompt, nasty: NASTY } },
    { id: 'c', type: 'end' },
  ],
  edges: [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
  ],
});

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  const versions = createVersions(kit);
  const ensure = (prompt: string, definitionId = 'd', tenantId = TENANT) =>
    versions.ensure({ tenantId, definitionId, graph: graphOf(prompt), publishedBy: 'deployment' });
  return { ...kit, versions, ensure };
}

eachDatabase(test, 'the same content gives the same version, other content the next', async (t, fresh) => {
  const { versions, ensure, clock } = await open(t, fresh);
  const first = await ensure('x');
  t.like(first, { definitionId: 'd', version: 1, publishedBy: 'deployment', publishedAt: clock.now() });
  t.deepEqual(first.graph, graphOf('x'));
  const second = await ensure('y');
  t.is(second.version, 2);
  clock.advance(1_000);
  t.deepEqual(await ensure('x'), first);
  t.deepEqual(await ensure('y'), second);
  t.is((await ensure('x', 'e')).version, 1);
  t.is((await ensure('y', 'd', OTHER_TENANT)).version, 1);
  t.deepEqual(await versions.get(TENANT, first.id), first);
  t.deepEqual(await versions.ofNumber(TENANT, 'd', 2), second);
});

eachDatabase(
  test,
  'the order of members makes no other content, the order of elements does',
  async (t, fresh) => {
    const { versions } = await open(t, fresh);
    const ensure = (graph: string) =>
      versions.ensure({ tenantId: TENANT, definitionId: 'd', graph: JSON.parse(graph), publishedBy: 'p' });
    const first = await ensure('{"nodes":[{"id":"a","type":"start"},{"id":"b","type":"end"}],"edges":[]}');
    const same = await ensure('{"edges":[],"nodes":[{"type":"start","id":"a"},{"id":"b","type":"end"}]}');
    const other = await ensure('{"edges":[],"nodes":[{"id":"b","type":"end"},{"type":"start","id":"a"}]}');
    const polluted = await ensure(
      '{"edges":[],"nodes":[{"id":"b","type":"end","__proto__":{}},{"type":"start","id":"a"}]}',
    );
    t.is(same.id, first.id);
    t.deepEqual([other.version, polluted.version], [2, 3]);
  },
);

eachDatabase(test, 'however many ask at once, contents and numbers are there once', async (t, fresh) => {
  const { versions, ensure } = await open(t, fresh);
  const asked = Array.from({ length: 24 }, (_, n) => `content ${n % 6}`);
  const given = await Promise.all(asked.map((prompt) => ensure(prompt)));
  for (const [index, prompt] of asked.entries()) {
    t.deepEqual(given[index]!.graph, graphOf(prompt));
    t.is(given[index]!.id, given[index % 6]!.id);
  }
  const { versions: listed, total } = await versions.list(TENANT, 'd', { limit: 100, offset: 0 });
  t.is(total, 6);
  t.deepEqual(
    listed.map(({ version }) => version),
    [6, 5, 4, 3, 2, 1],
  );
});

eachDatabase(test, 'versions are listed in pages, newest first, for their tenant', async (t, fresh) => {
  const { versions, ensure } = await open(t, fresh);
  for (const prompt of ['a', 'b', 'c']) await ensure(prompt);
  const page = await versions.list(TENANT, 'd', { limit: 1, offset: 1 });
  t.deepEqual([page.total, page.versions.map(({ version }) => version)], [3, [2]]);
  const [found] = page.versions;
  t.is(await versions.get(OTHER_TENANT, found!.id), undefined);
  t.is(await versions.ofNumber(OTHER_TENANT, 'd', 2), undefined);
  for (const id of ['', '\0', '\ud800', 'D']) {
    t.is(await versions.get(TENANT, id), undefined);
    t.is(await versions.ofNumber(TENANT, id, 1), undefined);
    t.deepEqual(await versions.list(TENANT, id, { limit: 9, offset: 0 }), { versions: [], total: 0 });
  }
  t.deepEqual(await versions.list(OTHER_TENANT, 'd', { limit: 9, offset: 0 }), { versions: [], total: 0 });
});
