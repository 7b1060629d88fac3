import test from 'ava';
import type { TestGateway } from '../../../testing/index.ts';
import { startGatewayProcess, startInFolder, temporaryFolder } from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { chain } from '../../support/workflow-story.ts';
import { startReceiver, verify } from './webhook-kit.ts';

const WEBHOOKS = '/api/v2/admin/webhooks';
const DEFINITIONS = '/v1/workflow-definitions';

async function ask(gateway: Pick<TestGateway, 'request'>, method: string, path: string, body?: object) {
  const response = await gateway.request(path, { method, ...(body === undefined ? {} : { body }) });
  if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response)}`);
  return response.body;
}

test('a workflow’s event whose first attempt failed is delivered after kill -9 and a restart', async (t) => {
  let isBroken = true;
  const receiver = await startReceiver(t, () => (isBroken ? 500 : 200));
  const folder = await temporaryFolder(t);
  const env = {
    SVC_PLUGINS: 'records,agent-engine,workflow,runtime',
    SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1',
    SVC_WEBHOOK_BACKOFF: '1s,1s,1s,1s,1s,1s,1s,1s,1s,1s',
  };
  const before = await startGatewayProcess(t, folder, env);
  const made = await ask(before, 'POST', WEBHOOKS, { url: receiver.url, events: ['workflow.run.completed'] });
  const definition = await ask(before, 'POST', DEFINITIONS, { name: 'short', graph: chain() });
  await ask(before, 'POST', `${DEFINITIONS}/${definition.id}/publish`);
  const run = await ask(before, 'POST', '/v1/workflow-runs', { definition_id: definition.id });
  const logs = async (gateway: Pick<TestGateway, 'request'>) =>
    (await ask(gateway, 'GET', `${WEBHOOKS}/${made.webhook.id}/logs`)).logs;
  await until(async () => (await logs(before)).length > 0);
  await before.stop('SIGKILL');
  isBroken = false;

  const after = await startInFolder(t, folder, env);
  await until(async () => (await logs(after))[0].status_code === 200);
  const attempts = await logs(after);
  const numbers = attempts.map(({ attempt }: { attempt: number }) => attempt);
  t.deepEqual(
    numbers,
    numbers.toSorted((a: number, b: number) => b - a),
  );
  t.true(numbers.length > 1);
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  const last = receiver.received.at(-1)!;
  t.like(verify(made.secret, last), { type: 'workflow.run.completed', data: { run_id: run.id } });
});
