import test from 'ava';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import type { Json } from '../../../../../plugins/workflow/contract/graph.ts';
import type { RunState, StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { CompiledGraph } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import {
  toStepRecord,
  toStepRecords,
  toTaskRecord,
} from '../../../../../plugins/workflow/services/views/records.ts';

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

test('steps are told in the order in which the graph leads to them', async (t) => {
  const { run, graph } = runOf('a', 'b', 'c');
  const records = await toStepRecords(run, graph, redactor);
  t.deepEqual(
    records.map(({ id }) => id),
    ['c', 'b', 'a'],
  );
});

test('others have their turn while the steps of a large run are looked through', async (t) => {
  const { run, graph } = runOf('a', 'b', 'c');
  // Longer for each step than others should wait.
  const slowly = (text: string) => {
    const end = performance.now() + 12;
    while (performance.now() < end);
    return text;
  };
  let hadTurn = false;
  const other = setImmediate(() => {
    hadTurn = true;
  });
  await toStepRecords(run, graph, { redact: slowly, redactJsonText: slowly });
  clearImmediate(other);
  t.true(hadTurn);
});

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => undefined });
const graph = { outcomesOf: () => ['approved'] } as unknown as CompiledGraph;
const KEY = 'AKIAIOSFODNN7EXAMPLE';

function stepOf(change: Partial<StepState>): StepState {
  const names = { id: 's', nodeId: 'n', nodeName: 'N', nodeType: 'human_task', status: 'waiting' } as const;
  const counts = { attempt: 1, delivery: 0, lost: 0, createdAt: 0, startedAt: 0 };
  const nothing = { readyAt: null, assignee: null, input: null, output: null, outcome: null, error: null };
  const unknown = { taken: null, completion: null, dueAt: null, completedAt: null };
  return { ...names, ...counts, ...nothing, ...unknown, ...change };
}

function taskOf(change: Partial<StepState>) {
  return toTaskRecord({ runId: 'r', definitionId: 'd', versionId: 'v', step: stepOf(change) }, graph, guard);
}

const instructed = (instructions: Json) => taskOf({ input: { instructions } }).instructions;

test('instructions that one template made of other data are shown as JSON', (t) => {
  t.is(instructed(250), '250');
  t.is(instructed({ amount: 250, for: 'paper' }), '{"amount":250,"for":"paper"}');
  t.is(instructed('Approve 250'), 'Approve 250');
  t.is(instructed(null), null);
  t.is(taskOf({ input: {} }).instructions, null);
});

test('instructions hold no credential, whatever their form', (t) => {
  t.is(instructed(`use ${KEY}`), 'use [REDACTED:aws-access-key-id]');
  t.is(instructed({ use: [KEY] }), '{"use":["[REDACTED:aws-access-key-id]"]}');
});

test('an assignee that a template made of a credential is not shown, neither of a task nor of a step', (t) => {
  const step = { assignee: KEY, input: {} };
  t.is(taskOf(step).assignee, '[REDACTED:aws-access-key-id]');
  t.is(toStepRecord('r', stepOf(step), guard).assignee, '[REDACTED:aws-access-key-id]');
  for (const assignee of ['role:admin', 'alice@example.com', '01a20137-5a09-707c-85d5-145546b1de8d', null]) {
    t.is(taskOf({ assignee }).assignee, assignee);
  }
});
