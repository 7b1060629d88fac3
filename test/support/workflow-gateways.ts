import type { ExecutionContext } from 'ava';
import type { RunEventRecord } from '../../plugins/workflow/contract/runs.ts';
import { startTestGateway } from '../../testing/index.ts';
import type { FreshDatabase } from './databases.ts';
import { startGatewayProcess, temporaryFolder } from './gateway-process.ts';
import { available } from './services.ts';
import type { WorkflowService } from './workflow-service.ts';
import type { Client } from './workflow-story.ts';

/** Where replicas of a test keep their runs, and whether they have Redis between them. */
export const FORMS = [
  { family: 'postgres', redis: true },
  { family: 'postgres', redis: false },
  { family: 'mysql', redis: true },
  { family: 'mysql', redis: false },
] as const;

export type Form = (typeof FORMS)[number];

export const nameOf = ({ family, redis }: Form) => `${family}${redis ? ' and redis' : ''}`;

/** Whether replicas of this form hear of each other at once; without, they look into the tables. */
export const hears = ({ family, redis }: Form) => redis || family === 'postgres';

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** The variables of a replica. False: a server is missing, and the test is skipped. */
export async function replicaEnvironment(
  t: ExecutionContext,
  form: Form,
  fresh: FreshDatabase,
  { allowed }: WorkflowService,
  env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (form.redis && !(await available(t, 'redis'))) return undefined;
  return {
    OBJECT_STORE_URL: 'none',
    // Several tests with two replicas each share the connections of one server.
    SVC_DATABASE_POOL: '4',
    SVC_EGRESS_ALLOW_PRIVATE: allowed,
    ...(form.redis && { REDIS_URL: 'redis://127.0.0.1:6379' }),
    ...env,
    ...fresh.environment,
  };
}

/** Without those who hear of runs: tests count the events that wait for a delivery. */
export const UNHEARD = { SVC_PLUGINS: 'records,agent-engine,platform,workflow' };

/** A replica in this process; it ends with the test. */
export async function startReplica(t: ExecutionContext, env: Readonly<Record<string, string>>) {
  const gateway = await startTestGateway({ env: { ...UNHEARD, ...env } });
  t.teardown(gateway.stop);
  await unlimited(gateway.request);
  return gateway;
}

/** A replica in a process of its own; it ends with the test. */
export async function startReplicaProcess(t: ExecutionContext, env: Readonly<Record<string, string>>) {
  return startGatewayProcess(t, await temporaryFolder(t), { ...UNHEARD, ...env });
}

/** Runs are started by the operator, in the tenant that is there from the start. */
async function unlimited(client: Client): Promise<void> {
  const raised = { method: 'PUT', body: { rate_limit_rpm: 1_000_000 } };
  const { status } = await client(`/v1/tenants/${DEFAULT_TENANT}`, raised);
  if (status !== 200) throw new Error(`the limit of the tenant could not be raised: ${status}`);
}

/** Starts a run and gives its id. */
export async function startRun(
  client: Client,
  definitionId: string,
  story: string,
  key?: string,
): Promise<string> {
  const answer = await client('/v1/workflow-runs', {
    method: 'POST',
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body: { definition_id: definitionId, input: { story } },
  });
  if (answer.status !== 201) throw new Error(`start: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

/** The status that a run has. */
export async function statusOf(client: Client, runId: string): Promise<string> {
  return (await client(`/v1/workflow-runs/${runId}`)).body.status;
}

/** All events of a run. */
export async function eventsOf(client: Client, runId: string): Promise<readonly RunEventRecord[]> {
  return (await client(`/v1/workflow-runs/${runId}/events?limit=500`)).body.events;
}
