import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import {
  type Receipt,
  type Receipts,
  ReceiptsRef,
  type UsageReports,
  UsageReportsRef,
  type UsageTotals,
} from '../../../plugins/records/contract.ts';
import type { GrpcClient, GrpcClientOptions, TestGateway } from '../../../testing/index.ts';
import { type FakeProvider, type ProviderScript, startFakeProvider } from '../../support/fake-provider.ts';
import { testPlugin } from '../../support/plugins.ts';
import type { Lifetime } from '../../support/shared.ts';
import { until } from '../../support/until.ts';
import { startRuntime } from './runtime-gateway.ts';

/** Where the proto files are. */
export const PROTOS = new URL('../../../plugins/runtime/proto/', import.meta.url);

/** Services of the runtime, by the word in their names. */
export const SERVICES = {
  agent: 'svc.agent.v1.AgentService',
  conversation: 'svc.conversation.v1.ConversationService',
  model: 'svc.model.v1.ModelService',
  tool: 'svc.tool.v1.ToolService',
} as const;

const AGENTS = `
apiVersion: svc/v1
kind: Agent
metadata: { name: payer, description: Pays }
spec:
  type: chat_model_agent
  system_prompt: You pay.
  tools:
    - { ref: builtin/calculator }
    - { ref: builtin/current_time, requires_approval: true }
---
apiVersion: svc/v1
kind: Agent
metadata: { name: boss, description: Leads }
spec:
  type: supervisor
  sub_agents: [{ ref: payer }]
`;

/** A runtime with two agents and a fake provider, and clients of its services: by default the operator's. */
export async function startGrpcRuntime(
  t: Lifetime,
  scripts: readonly ProviderScript[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{
  readonly gateway: TestGateway;
  readonly provider: FakeProvider;
  readonly client: (name: keyof typeof SERVICES, options?: Partial<GrpcClientOptions>) => GrpcClient;
  /** Of the default tenant. */
  readonly receipts: () => Promise<readonly Receipt[]>;
  readonly usage: () => Promise<readonly UsageTotals[]>;
}> {
  let needed!: { receipts: Receipts; usage: UsageReports };
  const reader = testPlugin('reader', {
    needs: { receipts: ReceiptsRef, usage: UsageReportsRef },
    setup(_, given) {
      needed = given as typeof needed;
    },
  });
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startRuntime(t, {
    plugins: [reader],
    env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0', ...env },
  });
  await writeFile(path.join(gateway.folder, 'agents.d', 'agents.yaml'), AGENTS);
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 2);
  const entities = () => gateway.gateway.services.database.forTenant(DEFAULT_TENANT_ID);
  return {
    gateway,
    provider,
    receipts: async () => {
      const page = { limit: 100, offset: 0 };
      return Readable.from((await needed.receipts.list(entities(), {}, page)).receipts).toArray();
    },
    usage: () => {
      const period = { from: new Date(0), to: new Date(Date.now() + 60_000) };
      return needed.usage.ofTenant(entities(), period, 'month');
    },
    client: (name, options) =>
      gateway.grpc({
        proto: new URL(`svc/${name}/v1/${name}.proto`, PROTOS),
        service: SERVICES[name],
        ...options,
      }),
  };
}
