import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { gatewayDatabase } from '../../support/databases.ts';
import {
  ACP_TOKEN,
  startGatewayProcess,
  startInFolder,
  temporaryFolder,
} from '../../support/gateway-process.ts';
import { until } from '../../support/until.ts';
import { startWorkflowService } from '../../support/workflow-service.ts';
import { openStream } from '../workflow/routes/event-stream.ts';
import { jobsClient } from './jobs-kit.ts';

/** Four calls one after the other. */
const calling = (url: string) => {
  const ids = ['a', 'b', 'c', 'd'];
  const nodes = ids.map(
    (id) =>
      `{ id: ${id}, type: service_task, config: { url: '${url}/${id}', body: { story: '{{input.story}}' } } }`,
  );
  const all = ['start', ...ids, 'end'];
  const edges = all.slice(1).map((id, at) => `{ from: ${all[at]}, to: ${id} }`);
  return `apiVersion: svc/v1
kind: Workflow
metadata: { name: calls }
spec:
  graph:
    nodes: [{ id: start, type: start }, ${nodes.join(', ')}, { id: end, type: end }]
    edges: [${edges.join(', ')}]
`;
};

async function survives(t: ExecutionContext, environment: Readonly<Record<string, string>>) {
  let isOpen = false;
  const service = await startWorkflowService(t, ({ node }) =>
    node === 'b' && !isOpen ? new Promise<undefined>(() => {}) : undefined,
  );
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'calls.yaml'), calling(service.url));
  const env = {
    SVC_PLUGINS: 'agent-engine,workflow,execution',
    OBJECT_STORE_URL: 'none',
    SVC_EGRESS_ALLOW_PRIVATE: service.allowed,
    WORKFLOW_LEASE: '1s',
    WORKFLOW_SWEEP_INTERVAL: '200ms',
    ...environment,
  };
  const process = await startGatewayProcess(t, folder, env);
  const first = jobsClient({ ...process, token: ACP_TOKEN });
  const id = await first.start('calls', { story: 'one' });
  await until(() => service.of('one').some(({ node }) => node === 'b'), 30_000);
  const stream = await openStream(`${process.url}/jobs/${id}/stream`, ACP_TOKEN);
  const seen = [
    'job.started',
    'step.started',
    'step.completed',
    'step.started',
    'step.completed',
    'step.started',
  ];
  await until(() => stream.events.length === seen.length, 30_000);
  t.deepEqual(
    stream.events.map(({ event }) => event),
    seen,
  );
  const ended = stream.ended.catch(() => undefined);
  t.is((await process.stop('SIGKILL')).signal, 'SIGKILL');
  await ended;
  isOpen = true;

  const second = jobsClient(await startInFolder(t, folder, env));
  const rest = await second.eventsOf(id, seen.length);
  const all = await second.eventsOf(id);
  t.deepEqual([...stream.events, ...rest], [...all]);
  t.deepEqual(
    all.map(({ id: number }) => Number(number)),
    all.map((_, at) => at + 1),
  );
  t.is(all.at(-1)!.event, 'job.completed');
  for (const type of ['step.started', 'step.completed']) {
    const nodes = all.filter(({ event }) => event === type).map(({ data }) => data.node_id);
    t.deepEqual(nodes, ['start', 'a', 'b', 'c', 'd', 'end'], type);
  }
  t.is((await second.read(id)).status, 'completed');
  t.deepEqual(
    service.of('one').map(({ node }) => node),
    ['a', 'b', 'b', 'c', 'd'],
  );
  t.is(new Set(service.of('one').map(({ key }) => key)).size, 4);
}

test('after kill -9 in the middle of a job it goes on, and its stream has no gap and nothing twice', async (t) => {
  await survives(t, { SVC_SQLITE_DB: path.join(await temporaryFolder(t), 'jobs.db') });
});

test('the same with jobs in PostgreSQL', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  await survives(t, { ...fresh.environment, SVC_RUNTIME_BACKEND: 'postgres' });
});
