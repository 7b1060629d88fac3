import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import type { Graph } from '../../../plugins/workflow/contract/graph.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { plain, startFakeProvider } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { providerEnv, says } from '../platform/routes/chat-kit.ts';
import { ask, clientOf, shout, startWorkflows, typesPlugin } from './plugin-kit.ts';
import { chain } from './routes/runs-gateway.ts';

/** A workflow of agents.d. */
const fileOf = (name: string, graph: Graph) =>
  JSON.stringify({ apiVersion: 'svc/v1', kind: 'Workflow', metadata: { name }, spec: { graph } });

test('a run whose node type has gone is paused, and goes on by a retry when the plugin is back', async (t) => {
  const gateway = await startWorkflows(t, { plugins: [typesPlugin().plugin] });
  const definition = await gateway.publish(chain(ask, shout));
  const run = await gateway.start(definition, { text: 'here' });
  await gateway.turn('acme', 'disable');
  t.is((await gateway.completeTask()).status, 200);
  const paused = await gateway.reaches(run.id, 'paused');
  t.like(paused.error, { code: 'node_type_missing', node: 'work' });
  t.regex(paused.error.message, /"acme"/);
  const refused = await gateway.post('/v1/workflow-definitions', { name: 'x', graph: chain(shout) });
  t.is(refused.status, 400);
  await gateway.turn('acme', 'enable');
  t.is((await gateway.post(`/v1/workflow-runs/${run.id}/retry`)).status, 200);
  const { steps } = await gateway.reaches(run.id, 'completed');
  t.like(steps[2], { status: 'completed', attempt: 2, output: { text: 'HERE' } });
});

test('a workflow of agents.d that is edited stays what it was for runs under way', async (t) => {
  const gateway = await startWorkflows(t, { plugins: [typesPlugin().plugin] });
  const said = (text: string) => chain(ask, { ...shout, config: { text } });
  const save = (text: string) =>
    writeFile(path.join(gateway.folder, 'agents.d', 'greet.yaml'), fileOf('greet', said(text)));
  const shows = async (text: string) => {
    const { body } = await gateway.request('/v1/workflow-definitions/greet');
    return body.graph?.nodes[2].config.text === text;
  };
  await save('one');
  await until(() => shows('one'), 10_000);
  const first = await gateway.start('greet');
  await save('two');
  await until(() => shows('two'), 10_000);
  const second = await gateway.start('greet');
  t.deepEqual([first.version, second.version], [1, 2]);
  t.not(first.version_id, second.version_id);
  for (const task of await gateway.get('/v1/workflow-tasks')) {
    await gateway.post(`/v1/workflow-tasks/${task.step_run_id}/complete`);
  }
  t.is((await gateway.reaches(first.id, 'completed')).steps[2].output.text, 'ONE');
  t.is((await gateway.reaches(second.id, 'completed')).steps[2].output.text, 'TWO');
  // The same content is the same version.
  await save('one');
  await until(() => shows('one'), 10_000);
  t.is((await gateway.start('greet')).version_id, first.version_id);
});

test('new code of the plugin takes over runs that are under way, and their steps end where they began', async (t) => {
  const answer = Promise.withResolvers<void>();
  const provider = await startFakeProvider(async (reply) => {
    await answer.promise;
    await says('At last.')(reply);
  }, plain());
  t.teardown(() => provider[Symbol.asyncDispose]());
  // As it is deployed: from the folder of bundled plugins, so that a reload imports the code anew.
  const gateway = await startTestGateway({
    env: { ...providerEnv(provider), OBJECT_STORE_URL: 'none', WORKFLOW_SWEEP_INTERVAL: '200ms' },
  });
  t.teardown(gateway.stop);
  const client = clientOf(gateway);
  const agent = { id: 'work', type: 'agent_task', config: { prompt: 'Wait.' } };
  const asking = await client.start(await client.publish(chain(ask)));
  const working = await client.start(await client.publish(chain(agent)), {}, 0);
  await until(() => provider.requests.length === 1, 10_000);

  const { generation } = await client.turn('workflow', 'reload');
  t.is(generation, 1);
  t.is((await client.read(asking.id)).status, 'waiting');
  t.is((await client.read(working.id)).status, 'running');
  t.is((await client.completeTask()).status, 200);
  await client.reaches(asking.id, 'completed');
  answer.resolve();
  const { steps } = await client.reaches(working.id, 'completed');
  t.like(steps[1], { attempt: 1, output: { text: 'At last.' } });
  t.is(provider.requests.length, 1, 'the call was not made again');
});
