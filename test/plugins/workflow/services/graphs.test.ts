import test from 'ava';
import type { CompiledGraph } from '../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { createGraphs } from '../../../../plugins/workflow/services/graphs.ts';
import { manualClock } from '../../../../testing/index.ts';

function bench() {
  const calls = { reads: 0, compiled: 0 };
  const graphs = createGraphs({
    versions: {
      async get(tenantId, id) {
        calls.reads += 1;
        if (tenantId !== 'mine' || id === 'gone') return undefined;
        if (id === 'away') throw new Error('away');
        return {
          id,
          definitionId: 'd',
          version: 1,
          publishedBy: 'ada',
          publishedAt: 0,
          graph: { nodes: [], edges: [] },
        };
      },
    },
    clock: manualClock(),
    compile: (graph) => {
      calls.compiled += 1;
      return { graph } as unknown as CompiledGraph;
    },
  });
  return { graphs, calls };
}

test('a version is read and compiled once, by however many at one time', async (t) => {
  const { graphs, calls } = bench();
  const [first, second] = await Promise.all([graphs.get('mine', 'v'), graphs.get('mine', 'v')]);
  t.is(first, second);
  t.is(await graphs.get('mine', 'v'), first);
  t.deepEqual(calls, { reads: 1, compiled: 1 });
});

test('a version belongs to its tenant, also when it is kept', async (t) => {
  const { graphs } = bench();
  await graphs.get('mine', 'v');
  await t.throwsAsync(graphs.get('theirs', 'v'), { code: 'workflow.definition-not-found' });
});

test('a failure is not kept', async (t) => {
  const { graphs, calls } = bench();
  await t.throwsAsync(graphs.get('mine', 'away'), { message: 'away' });
  await t.throwsAsync(graphs.get('mine', 'away'), { message: 'away' });
  await t.throwsAsync(graphs.get('mine', 'gone'), { message: /gone/ });
  t.is(calls.reads, 3);
});

test('what was not used for long makes room', async (t) => {
  const { graphs, calls } = bench();
  for (let index = 0; index <= 1_000; index += 1) await graphs.get('mine', `v${index}`);
  await graphs.get('mine', 'v0');
  t.is(calls.reads, 1_002);
});
