import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Database, TenantEntityManager } from 'agent-gateway';
import type { ExecutionContext } from 'ava';
import { AgentsRef, type Tool, ToolsPoint } from '../../../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../../../plugins/agent-engine/plugin.ts';
import {
  MemoriesRef,
  MeteringRef,
  PreamblesRef,
  PricingRulesRef,
  ReceiptsRef,
} from '../../../../../plugins/records/contract.ts';
import records from '../../../../../plugins/records/plugin.ts';
import { UsageRecordRow } from '../../../../../plugins/records/store/usage.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { NodeType, StepTask } from '../../../../../plugins/workflow/contract/node-types.ts';
import { agentTask } from '../../../../../plugins/workflow/services/nodes/agent-task.ts';
import type { NestedPrincipals } from '../../../../../plugins/workflow/services/tools/start-workflow.ts';
import { startTestGateway } from '../../../../../testing/index.ts';
import { type ProviderScript, sse, startFakeProvider } from '../../../../support/fake-provider.ts';
import { testPlugin } from '../../../../support/plugins.ts';
import { providerEnv } from '../../../platform/routes/chat-kit.ts';
import { stepTask, TENANT } from './kit.ts';

/** What a test of agent tasks says. */
export interface AgentOptions {
  readonly tools?: readonly Tool[];
  /** Files of agents.d, by name. */
  readonly agents?: Readonly<Record<string, string>>;
  readonly commitsWithStep?: boolean;
  readonly nested?: NestedPrincipals;
}

/** The real agent engine in a gateway, in front of a provider that plays scripts; and the real type over it. */
export async function startAgents(
  t: ExecutionContext,
  scripts: readonly ProviderScript[],
  { tools = [], agents = {}, commitsWithStep = true, nested = new WeakSet() }: AgentOptions = {},
) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  let made: {
    type: NodeType;
    database: Database;
    memories: typeof MemoriesRef.type;
    pricing: typeof PricingRulesRef.type;
    receipts: typeof ReceiptsRef.type;
  };
  const plugin = testPlugin('agent-tasks', {
    needs: {
      agents: AgentsRef,
      metering: MeteringRef,
      preambles: PreamblesRef,
      memories: MemoriesRef,
      pricing: PricingRulesRef,
      receipts: ReceiptsRef,
    },
    // biome-ignore lint/suspicious/noExplicitAny: what is needed is typed by `needs`, which this helper widens
    setup(scope, needed: any) {
      const { database, durableEvents } = scope.services;
      const { memories, pricing, receipts } = needed;
      const type = agentTask({
        ...needed,
        database,
        durableEvents,
        commitsWithStep,
        nested,
        preambleTokens: 2_000,
      });
      made = { type, database, memories, pricing, receipts };
      scope.contribute(ToolsPoint, { prefix: 'builtin/', list: () => tools });
    },
  });
  const gateway = await startTestGateway({
    plugins: [records, agentEngine, plugin],
    env: { OBJECT_STORE_URL: 'none', ...providerEnv(provider) },
  });
  t.teardown(gateway.stop);
  const folder = path.join(gateway.folder, 'agents.d');
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(agents)) await writeFile(path.join(folder, `${name}.yaml`), text);
  if (Object.keys(agents).length > 0) await gateway.gateway.services.resources.reload();
  const { type, database, memories, pricing, receipts } = made!;
  const entities = database.forTenant(TENANT);
  return {
    provider,
    type,
    memories: memories!,
    pricing: pricing!,
    entities,
    run: (input: JsonObject, parts: Partial<StepTask> = {}) => type.execute(stepTask(input, parts)),
    /** Commits what a result has to be committed with. */
    commit: (also: ((entities: TenantEntityManager) => Promise<void>) | undefined) =>
      entities.transaction(async (transaction) => also?.(transaction)),
    usage: () => entities.find(UsageRecordRow, {}),
    receipts: async () =>
      Readable.from((await receipts!.list(entities, {}, { limit: 100, offset: 0 })).receipts).toArray(),
  };
}

/** An answer that calls a tool. */
export function callsTool(name: string, given: object, id = 'call_1'): ProviderScript {
  const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(given) } };
  return finishes('tool_calls', { tool_calls: [call] });
}

/** An answer that ends with this reason. */
export function finishes(reason: string, delta: object): ProviderScript {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'fake-model' };
  const choice = (more: object, finish_reason: string | null) => ({
    ...chunk,
    choices: [{ index: 0, delta: more, finish_reason }],
  });
  const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
  return ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(sse(choice(delta, null)));
    response.write(sse(choice({}, reason)));
    response.write(sse({ ...chunk, choices: [], usage }));
    response.end('data: [DONE]\n\n');
  };
}
