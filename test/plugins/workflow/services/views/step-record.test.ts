import test from 'ava';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { CompiledGraph } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import { toStepRecords } from '../../../../../plugins/workflow/services/views/records.ts';

const redactor = { redact: (text: string) => text, redactJsonText: (text: string) => text };

function runOf(...ids: readonly string[]) {
  const nothing = { assignee: null, output: null, outcome: null, error: null, dueAt: null };
  const times = { createdAt: 0, startedAt: null, completedAt: null };
  const steps = ids.map(
    (id) => [id, { ...nothing, ...times, id, nodeName: id, input: { text: id } }] as const,
  );
  const run = { id: 'r', steps: new Map(steps) } as unknown as RunState;
  return {
    run,
    graph: { nodes: new Map(ids.toReversed().map((id) => [id, {}])) } as unknown as CompiledGraph,
  };
}

/** Between any two looks so much time has passed. */
function clockBy(milliseconds: number) {
  let now = 0;
  return {
    monotonic: () => {
      now += milliseconds;
      return now;
    },
  };
}

async function othersHadTurn(milliseconds: number): Promise<boolean> {
  const { run, graph } = runOf('a', 'b', 'c');
  let hadTurn = false;
  const other = setImmediate(() => {
    hadTurn = true;
  });
  await toStepRecords(run, graph, redactor, clockBy(milliseconds));
  clearImmediate(other);
  return hadTurn;
}

test('steps are told in the order in which the graph leads to them', async (t) => {
  const { run, graph } = runOf('a', 'b', 'c');
  const records = await toStepRecords(run, graph, redactor, clockBy(1));
  t.deepEqual(
    records.map(({ id }) => id),
    ['c', 'b', 'a'],
  );
});

test('others have their turn while the steps of a large run are looked through', async (t) => {
  t.true(await othersHadTurn(50));
  t.false(await othersHadTurn(0.1), 'small runs are told at once');
});
