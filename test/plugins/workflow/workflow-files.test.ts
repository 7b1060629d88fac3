import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { until } from '../../support/until.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../agents.d');

/** A gateway without a model provider, and with the examples of agents.d. */
async function started(t: ExecutionContext) {
  const gateway = await startTestGateway({ plugins: [records, agentEngine, workflow] });
  t.teardown(gateway.stop);
  for (const file of ['agents.yaml', 'workflows.yaml']) {
    await copyFile(path.join(EXAMPLES, file), path.join(gateway.folder, 'agents.d', file));
  }
  const { failed } = await gateway.gateway.services.resources.reload();
  t.deepEqual(failed, []);
  const { request } = gateway;
  const post = (where: string, body?: object) => request(where, { method: 'POST', ...(body && { body }) });
  const run = async (definition_id: string, input: object) => {
    const { status, body } = await post('/v1/workflow-runs?wait=30', { definition_id, input });
    t.is(status, 201, JSON.stringify(body));
    return body;
  };
  /** Steps of a run by node, once it is over. */
  const steps = async (id: string) => {
    let run = { status: '', steps: [] as { node_id: string; status: string; output: { text?: string } }[] };
    const isOver = async () => {
      const answer = await request(`/v1/workflow-runs/${id}`);
      t.is(answer.status, 200);
      run = answer.body;
      return run.status !== 'running';
    };
    await until(isOver, 15_000);
    t.is(run.status, 'completed', JSON.stringify(run));
    return new Map(run.steps.map((step) => [step.node_id, step]));
  };
  return { ...gateway, request, post, run, steps };
}

for (const { input, taken, skipped } of [
  { input: { text: 'When do you open?', priority: 'normal' }, taken: 'answer', skipped: 'escalate' },
  { input: { text: 'I want my refund.', priority: 'normal' }, taken: 'escalate', skipped: 'answer' },
  { input: { text: 'The site is down.', priority: 'high' }, taken: 'escalate', skipped: 'answer' },
]) {
  test(`the example triage leads "${input.text}" to ${taken}, offline`, async (t) => {
    const { run, steps } = await started(t);
    const found = await steps((await run('triage', input)).id);
    t.is(found.get(taken)?.status, 'completed');
    t.is(found.get(skipped)?.status, 'skipped');
    t.true(found.get('summary')?.output.text?.includes(input.text), 'the prompt was filled in');
  });
}

for (const { outcome, end } of [
  { outcome: 'approved', end: 'paid' },
  { outcome: 'rejected', end: 'refused' },
]) {
  test(`the example approval waits for somebody, and ends in ${end} when he says ${outcome}`, async (t) => {
    const { run, steps, request, post } = await started(t);
    const { id, status } = await run('approval', { employee: 'Ann', amount: 700, purpose: 'a desk' });
    t.is(status, 'waiting');
    const [task] = (await request('/v1/workflow-tasks')).body;
    t.like(task, {
      run_id: id,
      node_id: 'decision',
      assignee: 'role:admin',
      outcomes: ['approved', 'rejected'],
    });
    t.is(task.instructions, 'Ann asks for 700 euros for a desk.');
    t.truthy(task.due_at);
    const payload = { outcome, variables: { cost_centre: '4711' } };
    t.is((await post(`/v1/workflow-tasks/${task.step_run_id}/complete`, payload)).status, 200);
    const found = await steps(id);
    t.is(found.get(end)?.status, 'completed');
    t.is(found.get('expired')?.status, 'skipped');
    if (outcome === 'approved') t.true(found.get('confirm')?.output.text?.includes('4711'));
  });
}

test('the example approval asks nobody about a small amount', async (t) => {
  const { run, steps } = await started(t);
  const found = await steps((await run('approval', { employee: 'Ann', amount: 50, purpose: 'pens' })).id);
  t.is(found.get('decision')?.status, 'skipped');
  t.is(found.get('paid')?.status, 'completed');
});
