import type { ExecutionContext } from 'ava';
import Type from 'typebox';
import agentEngine from '../../../../plugins/agent-engine/plugin.ts';
import records from '../../../../plugins/records/plugin.ts';
import { type WorkflowEngine, WorkflowEngineRef } from '../../../../plugins/workflow/contract/engine.ts';
import type { Graph, GraphEdge, GraphNode } from '../../../../plugins/workflow/contract/graph.ts';
import {
  type NodeType,
  NodeTypesPoint,
  StepFailure,
} from '../../../../plugins/workflow/contract/node-types.ts';
import workflow from '../../../../plugins/workflow/plugin.ts';
import { createDefinitionStore } from '../../../../plugins/workflow/store/definition-store.ts';
import { gatewayDefinitions, gatewayTables } from '../../../../plugins/workflow/store/tables.ts';
import { startTestGateway, type TestGatewayOptions } from '../../../../testing/index.ts';
import { testPlugin } from '../../../support/plugins.ts';

/** Steps that are held when a test ends are given back then. */
const ENVIRONMENT = { WORKFLOW_SWEEP_INTERVAL: '200ms', SVC_DRAIN_TIMEOUT: '1s' };

/** Steps that a test opens one by one. */
export interface Gates {
  /** Ids of runs whose step `test/hold` is under way. */
  readonly held: Set<string>;
  /** Ids of runs whose step was aborted. */
  readonly aborted: Set<string>;
  release(runId: string): void;
  /** While it is true, `test/flaky` fails. */
  isBroken: boolean;
}

/**
 * A gateway with the workflow plugin and node types of a test; stopped when the test ends. One that is deaf hears
 * nothing from replicas that share its database.
 */
export async function startRuns(
  t: ExecutionContext,
  options: Omit<TestGatewayOptions, 'plugins'> & { readonly isDeaf?: boolean } = {},
) {
  const gates = createGates();
  let engine: WorkflowEngine | undefined;
  const types = testPlugin('test', {
    needs: { workflows: WorkflowEngineRef },
    setup(scope, { workflows }) {
      engine = workflows as WorkflowEngine;
      for (const type of testTypes(gates)) scope.contribute(NodeTypesPoint, type);
    },
  });
  const gateway = await startTestGateway({
    ...options,
    env: {
      ...ENVIRONMENT,
      ...(options.isDeaf === true && { SVC_DEPLOYMENT: `test-${crypto.randomUUID().slice(0, 8)}` }),
      ...options.env,
    },
    plugins: [records, agentEngine, workflow, types],
  });
  t.teardown(gateway.stop);
  const { apiKeys, database, clock, ids } = gateway.gateway.services;
  const definitions = createDefinitionStore({
    database,
    tables: gatewayTables,
    definitions: gatewayDefinitions,
    clock,
    ids,
  });

  /** A published definition of the tenant. */
  async function publish(tenantId: string, graph: Graph): Promise<string> {
    const draft = await definitions.create(tenantId, {
      name: 'flow',
      description: '',
      graph,
      createdBy: 'ada',
    });
    await definitions.publish(draft, 'ada');
    return draft.id;
  }

  return Object.assign(gateway, {
    gates,
    engine: engine!,
    definitions,
    publish,
    /** A raw key of a tenant with these roles and scopes. */
    async key(tenantId: string, roles: readonly string[], scopes: readonly string[] = []) {
      const wanted = { tenantId, name: 'test', roles: [...roles], scopes: [...scopes] };
      const { key, record } = await apiKeys.create({ ...wanted, expiresAt: null, createdBy: null });
      return { id: record.id, key };
    },
    /** A tenant with a client of its own, and a definition of this graph. */
    async tenantWith(graph: Graph) {
      const tenant = await gateway.makeTenant();
      const definitionId = await publish(tenant.id, graph);
      const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
        gateway.request(path, { method, token: tenant.token, headers, ...(body && { body }) });
      return {
        ...tenant,
        definitionId,
        call,
        get: (path: string) => call('GET', path),
        post: (path: string, body?: object, headers?: Record<string, string>) =>
          call('POST', path, body ?? {}, headers),
        /** Starts a run and gives it back. */
        async start(input: object = {}, query = '') {
          const { status, body } = await call('POST', `/v1/workflow-runs${query}`, {
            definition_id: definitionId,
            input,
          });
          if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
          return body;
        },
      };
    },
  });
}

/** A graph of these nodes in a row, from a start to an end. */
export function chain(...nodes: readonly GraphNode[]): Graph {
  const all: GraphNode[] = [{ id: 'start', type: 'start' }, ...nodes, { id: 'end', type: 'end' }];
  const edges: GraphEdge[] = all.slice(1).map(({ id }, index) => ({ from: all[index]!.id, to: id }));
  return { nodes: all, edges };
}

function createGates(): Gates & { hold(runId: string, signal: AbortSignal): Promise<void> } {
  const opens = new Map<string, () => void>();
  const held = new Set<string>();
  const aborted = new Set<string>();
  return {
    held,
    aborted,
    isBroken: true,
    release: (runId) => opens.get(runId)?.(),
    async hold(runId, signal) {
      held.add(runId);
      await new Promise<void>((resolve, reject) => {
        opens.set(runId, resolve);
        signal.addEventListener('abort', () => {
          aborted.add(runId);
          reject(signal.reason);
        });
      });
      held.delete(runId);
    },
  };
}

function testTypes(gates: ReturnType<typeof createGates>): readonly NodeType[] {
  const config = Type.Object({}, { additionalProperties: true });
  const common = { summary: 'of a test', config };
  return [
    {
      ...common,
      type: 'test/echo',
      execute: async ({ input }) => ({ output: input, record: { seen: true } }),
    },
    {
      ...common,
      type: 'test/hold',
      execute: async ({ runId, signal }) => {
        await gates.hold(runId, signal);
        return { output: {} };
      },
    },
    {
      ...common,
      type: 'test/flaky',
      execute: async ({ attempt }) => {
        if (gates.isBroken) {
          throw new StepFailure('broken', 'It is broken, with AKIAIOSFODNN7EXAMPLE', { record: { code: 7 } });
        }
        return { output: { attempt } };
      },
    },
  ];
}
