import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import type { Graph } from '../../../plugins/workflow/contract/graph.ts';
import { type NodeType, NodeTypesPoint } from '../../../plugins/workflow/contract/node-types.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { startTestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { type ProviderScript, startFakeProvider } from '../../support/fake-provider.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { providerEnv } from '../platform/routes/chat-kit.ts';

export const RUNS = '/v1/workflow-runs';
export const TASKS = '/v1/workflow-tasks';
export const DEFINITIONS = '/v1/workflow-definitions';

/** A node that asks anybody. */
export const ask = { id: 'ask', type: 'human_task', config: {} };
/** A node of `typesPlugin` that gives its text back, in capitals. */
export const shout = { id: 'work', type: 'acme/shout', config: { text: '{{input.text}}' } };
/** A node of `typesPlugin` that waits until somebody opens it. */
export const hold = { id: 'work', type: 'acme/hold' };

/** What a test says of its gateway. */
export interface WorkflowsOptions extends Omit<TestGatewayOptions, 'plugins'> {
  /** What the model provider answers, one after the other; absent: there is none. */
  readonly scripts?: readonly ProviderScript[];
  /** Beside the bundled ones. */
  readonly plugins?: readonly Plugin[];
}

/** A gateway with all bundled plugins, and some of a test; stopped when the test ends. */
export async function startWorkflows(
  t: ExecutionContext,
  { scripts, plugins = [], env = {}, ...options }: WorkflowsOptions = {},
) {
  const provider = scripts && (await startFakeProvider(...scripts));
  if (provider !== undefined) t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startTestGateway({
    ...options,
    env: {
      // What is provisioned for a tenant in the background would come into some of the prompts.
      OBJECT_STORE_URL: 'none',
      WORKFLOW_SWEEP_INTERVAL: '200ms',
      SVC_DRAIN_TIMEOUT: '1s',
      ...(provider && providerEnv(provider)),
      ...env,
    },
    plugins: [records, agentEngine, platform, workflow, ...plugins],
  });
  t.teardown(gateway.stop);
  return Object.assign(gateway, clientOf(gateway), { requests: provider?.requests ?? [] });
}

/** What tests do as the operator, over HTTP. */
export function clientOf({ request }: Pick<Awaited<ReturnType<typeof startTestGateway>>, 'request'>) {
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    request(path, { method: 'POST', body, headers });
  const get = async (path: string) => (await request(path)).body;
  const read = (id: string) => get(`${RUNS}/${id}`);
  return {
    post,
    get,
    read,
    /** A published definition. */
    async publish(graph: Graph): Promise<string> {
      const { status, body } = await post(DEFINITIONS, { name: 'flow', graph });
      if (status !== 201) throw new Error(JSON.stringify(body));
      await post(`${DEFINITIONS}/${body.id}/publish`);
      return body.id;
    },
    /** Starts a run, and gives it back when it has settled, or after `wait` seconds. */
    async start(definition_id: string, input: object = {}, wait = 20) {
      const { status, body } = await post(`${RUNS}?wait=${wait}`, { definition_id, input });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body;
    },
    /** Completes the only task that waits. */
    async completeTask(body: object = {}) {
      const [task] = await get(TASKS);
      return post(`${TASKS}/${task.step_run_id}/complete`, body);
    },
    /** Resolves with the run when it has this status. */
    async reaches(id: string, status: string) {
      let run = await read(id);
      const isThere = async () => {
        run = await read(id);
        return run.status === status;
      };
      await until(isThere, 20_000);
      return run;
    },
    /** Enables, disables or reloads a plugin as an operator does. */
    async turn(plugin: string, verb: 'enable' | 'disable' | 'reload') {
      const { status, body } = await request(`/admin/v1/plugins/${plugin}/${verb}`, { method: 'POST' });
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body;
    },
  };
}

/** A plugin that adds node types, with the steps of `acme/hold` that are under way. */
export function typesPlugin(name = 'acme') {
  const held = new Map<string, () => void>();
  /** Attempt and delivery of each call of `acme/hold`. */
  const calls: string[] = [];
  const types: readonly NodeType[] = [
    {
      type: `${name}/shout`,
      summary: 'Gives a text back in capitals.',
      config: Type.Object({ text: Type.String() }, { additionalProperties: false }),
      execute: async ({ input }) => ({ output: { text: String(input.text).toUpperCase() } }),
    },
    {
      type: `${name}/hold`,
      summary: 'Waits until somebody opens it.',
      config: Type.Object({}, { additionalProperties: false }),
      async execute({ runId, attempt, delivery, signal }) {
        calls.push(`${attempt}.${delivery}`);
        await new Promise<void>((resolve, reject) => {
          held.set(runId, resolve);
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        }).finally(() => held.delete(runId));
        return { output: { held: true } };
      },
    },
  ];
  const plugin = testPlugin(name, {
    setup(scope) {
      for (const type of types) scope.contribute(NodeTypesPoint, type);
    },
  });
  return { plugin, types, held, calls };
}
