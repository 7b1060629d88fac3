import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import type { Clock } from '../../../foundation/base/clock.ts';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import { JobGraphsPoint } from '../../../plugins/execution/contract.ts';
import execution from '../../../plugins/execution/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import type { Graph } from '../../../plugins/workflow/contract/graph.ts';
import { NodeTypesPoint, StepFailure } from '../../../plugins/workflow/contract.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import type { TestRequest } from '../../../testing/start-test-gateway.ts';
import { type FreshDatabase, gatewayDatabase } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/gateway-process.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { chain } from '../../support/workflow-story.ts';
import { hold, shout, typesPlugin } from '../workflow/plugin-kit.ts';
import { openStream } from '../workflow/routes/event-stream.ts';

/** The execution server and what is beside it. */
export const PLUGINS = [records, agentEngine, platform, workflow, execution];

/** Where the gateway keeps its data, and where the jobs are. */
export const FORMS = [
  { name: 'sqlite, jobs in a file', family: 'sqlite', file: true, env: {} },
  { name: 'sqlite, jobs in memory', family: 'sqlite', file: false, env: {} },
  { name: 'postgres, jobs in it', family: 'postgres', file: false, env: { SVC_RUNTIME_BACKEND: 'postgres' } },
  { name: 'mysql, jobs in a file', family: 'mysql', file: true, env: {} },
] as const;

type Form = Pick<(typeof FORMS)[number], 'family' | 'file'> & { readonly env: object };

const human = (id: string) => ({ id, type: 'human_task', config: { instructions: `Say for ${id}` } });

/** From the start to each of these nodes, and from each to the end. */
const ways = (...ids: readonly string[]) =>
  ids.flatMap((id) => [
    { from: 'start', to: id },
    { from: id, to: 'end' },
  ]);

/** What jobs of tests run. */
export const GRAPHS: Readonly<Record<string, Graph>> = {
  'test/shout': chain(shout),
  'test/hold': chain(hold),
  'test/empty': chain(),
  'test/ask': chain(human('ask')),
  'test/mine': chain({ id: 'ask', type: 'human_task', config: { assignee: 'role:auditor' } }),
  'test/choose': {
    nodes: [{ id: 'start', type: 'start' }, human('ask'), shout, { id: 'end', type: 'end' }],
    edges: [
      { from: 'start', to: 'ask' },
      { from: 'ask', to: 'work', condition: { outcome: 'yes' } },
      { from: 'work', to: 'end' },
      { from: 'ask', to: 'end', condition: { outcome: 'no' } },
    ],
  },
  'test/two': {
    nodes: [{ id: 'start', type: 'start' }, human('ann'), human('bob'), { id: 'end', type: 'end' }],
    edges: ways('ann', 'bob'),
  },
  'test/fails': {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'bad', type: 'acme/bad' },
      hold,
      human('ask'),
      { id: 'end', type: 'end' },
    ],
    edges: ways('bad', 'work', 'ask'),
  },
};

/** A workflow of agents.d. */
export const FILE = `apiVersion: svc/v1
kind: Workflow
metadata: { name: filed }
spec:
  graph:
    nodes: [{ id: start, type: start }, { id: ask, type: human_task }, { id: end, type: end }]
    edges: [{ from: start, to: ask }, { from: ask, to: end }]
`;

/** The database and the variables of a form; undefined where its server is missing. */
export async function groundOf(t: ExecutionContext, { family, file, env }: Form) {
  const fresh = await gatewayDatabase(t, family);
  if (fresh === undefined) return undefined;
  const folder = await temporaryFolder(t);
  const SVC_SQLITE_DB = path.join(folder, 'jobs', 'jobs.db');
  return { fresh, env: { ...fresh.environment, ...env, ...(file && { SVC_SQLITE_DB }) } };
}

export interface JobsOptions {
  readonly fresh?: FreshDatabase;
  readonly env?: Readonly<Record<string, string>>;
  readonly plugins?: readonly Plugin[];
  readonly clock?: Clock;
}

/** A gateway with the execution server and the graphs above; stopped when the test ends. */
export async function startJobs(t: ExecutionContext, { env = {}, plugins = [], clock }: JobsOptions = {}) {
  const acme = typesPlugin();
  const graphs = testPlugin('test', {
    setup(scope) {
      for (const [name, graph] of Object.entries(GRAPHS)) scope.contribute(JobGraphsPoint, { name, graph });
    },
  });
  const gateway = await startTestGateway({
    ...(clock && { clock }),
    env: {
      OBJECT_STORE_URL: 'none',
      WORKFLOW_SWEEP_INTERVAL: '200ms',
      SVC_DRAIN_TIMEOUT: '1s',
      ...env,
    },
    plugins: [...PLUGINS, acme.plugin, graphs, bad(), ...plugins],
  });
  t.teardown(gateway.stop);
  await writeFile(path.join(gateway.folder, 'agents.d', 'filed.yaml'), FILE);
  await gateway.gateway.services.resources.reload();
  return Object.assign(gateway, { held: acme.held }, jobsClient(gateway));
}

/** A type that fails. */
function bad(): Plugin {
  return testPlugin('bad', {
    setup(scope) {
      scope.contribute(NodeTypesPoint, {
        type: 'acme/bad',
        summary: 'Fails',
        config: Type.Object({}, { additionalProperties: false }),
        execute: () => Promise.reject(new StepFailure('too_bad', 'It never works')),
      });
    },
  });
}

/** What a client does with jobs. */
export function jobsClient({ request, url, token }: JobsServer) {
  const post = (where: string, body: object = {}, options: TestRequest = {}) =>
    request(where, { method: 'POST', body, ...options });
  const read = async (id: string) => (await request(`/jobs/${id}`)).body;
  return {
    post,
    read,
    /** Starts a job and gives its id. */
    async start(graph_name: string, input: object = {}): Promise<string> {
      const { status, body } = await post('/jobs', { graph_name, input });
      if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
      return body.job_id;
    },
    /** Resolves with the job when it has this status. */
    async reaches(id: string, status: string) {
      let job = await read(id);
      await until(async () => {
        job = await read(id);
        return job.status === status;
      }, 30_000);
      return job;
    },
    /** Reads all events of a job that ends. */
    async eventsOf(id: string, after?: number) {
      const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': String(after) };
      const stream = await openStream(`${url}/jobs/${id}/stream`, token, headers);
      await stream.ended;
      return stream.events;
    },
  };
}

interface JobsServer {
  readonly url: string;
  readonly token: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  request(path: string, request?: TestRequest): Promise<{ readonly status: number; readonly body: any }>;
}
