import test from 'ava';
import type { Graph } from '../../../../../plugins/workflow/contract/graph.ts';
import { compileGraph } from '../../../../../plugins/workflow/services/graph/compile-graph.ts';
import { TestRun } from './test-run.ts';

/* The rules with graphs as the compiler makes them. */

const approval: Graph = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'draft', type: 'service_task', config: { url: 'https://example.com/{{input.id}}' } },
    {
      id: 'check',
      type: 'human_task',
      config: {
        assignee: '{{input.owner}}',
        instructions: 'Is {{steps.draft.output.title}} fine?',
        timeout: '1h',
      },
    },
    {
      id: 'pay',
      type: 'service_task',
      config: { url: 'https://example.com/pay', body: { to: '{{variables.to}}' } },
    },
    { id: 'end', type: 'end' },
    { id: 'rejected', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'draft' },
    { from: 'draft', to: 'check', condition: { field: 'steps.draft.output.amount', op: 'gte', value: 100 } },
    { from: 'draft', to: 'pay' },
    { from: 'check', to: 'pay', condition: { outcome: 'approved' } },
    { from: 'check', to: 'rejected', condition: { outcome: 'timeout' } },
    { from: 'check', to: 'rejected' },
    { from: 'pay', to: 'end' },
  ],
};

const types = { get: () => undefined, names: () => [] };

test('a definition runs as it was written: comparison, task, outcome, variables, and dead paths', (t) => {
  const run = new TestRun(compileGraph(approval, types), { input: { id: 'a/b', owner: 'role:lead' } });
  run.run('draft', { title: 'Invoice', amount: 250 });
  t.like(run.step('check'), {
    status: 'waiting',
    assignee: 'role:lead',
    dueAt: run.now + 3_600_000,
    input: { instructions: 'Is Invoice fine?' },
  });
  t.deepEqual(run.last('task.created').data.outcomes, ['approved']);
  run.complete('check', { outcome: 'approved', variables: { to: 'anna' } });
  run.claim();
  t.like(run.step('pay').input, { body: { to: 'anna' } });
  run.succeed('pay');
  t.deepEqual(run.statuses, {
    start: 'completed',
    draft: 'completed',
    check: 'completed',
    pay: 'completed',
    end: 'completed',
    rejected: 'skipped',
  });
  t.is(run.state.status, 'completed');
});

test('a definition takes the default edge where no comparison holds, and skips the task', (t) => {
  const run = new TestRun(compileGraph(approval, types), { input: { owner: 'anna' } });
  run.claim();
  t.deepEqual(run.last('warning').data, { reference: 'input.id', node: 'draft' });
  run.succeed('draft', { amount: 99 });
  t.like(run.statuses, { check: 'skipped', rejected: 'skipped', pay: 'pending' });
});

test('a definition goes on by the outcome timeout when nobody completes its task', (t) => {
  const run = new TestRun(compileGraph(approval, types), { input: { id: 'x', owner: 'anna' } });
  run.run('draft', { amount: 100 });
  run.tick(3_600_000);
  t.like(run.statuses, { check: 'completed', rejected: 'completed', pay: 'skipped', end: 'skipped' });
  t.is(run.state.status, 'completed');
});

test('a step that leads nowhere names the comparison as it was written', (t) => {
  const strict: Graph = {
    ...approval,
    edges: approval.edges.filter((edge) => edge.to !== 'pay' || edge.condition),
  };
  const run = new TestRun(compileGraph(strict, types), { input: { id: 'x' } });
  run.run('draft', { amount: 1 });
  t.is(run.state.error?.code, 'no_matching_edge');
  t.regex(run.state.error!.message, /steps\.draft\.output\.amount gte 100 \(to "check"\)/);
});
