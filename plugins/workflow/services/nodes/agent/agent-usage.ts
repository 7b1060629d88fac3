import type { Database, TenantEntityManager } from 'agent-gateway';
import type { ModelUse, Principal } from '../../../../agent-engine/contract.ts';
import type { Metering, PricedUse } from '../../../../records/contract.ts';
import type { JsonObject } from '../../../contract/graph.ts';

/** What the usage of agent tasks is kept with. */
export interface AgentUsageParts {
  readonly metering: Pick<Metering, 'price' | 'record'>;
  /** The gateway's database, where usage is kept. */
  readonly database: Pick<Database, 'forTenant'>;
  /** True where the engine's runs are in that database too: usage then commits together with the step. */
  readonly commitsWithStep: boolean;
}

/** The usage of agent tasks: what a step tells of it, and how it is recorded. */
export interface AgentUsage {
  /** Records the model calls of a step that succeeds. `also` is there where the record has to be part of the step's commit. */
  ofSuccess(
    principal: Principal,
    uses: readonly ModelUse[],
  ): Promise<{
    readonly usage: JsonObject;
    readonly also?: (entities: TenantEntityManager) => Promise<void>;
  }>;
  /** Records the model calls of a turn that came to its end, and fails the step all the same. Durable when it has resolved. */
  ofFailure(principal: Principal, uses: readonly ModelUse[]): Promise<void>;
}

/** Makes it. Records have the source `workflow`, the tenant and the identity of the principal, and no session. */
export function createAgentUsage({ metering, database, commitsWithStep }: AgentUsageParts): AgentUsage {
  async function recordApart(principal: Principal, priced: readonly PricedUse[]): Promise<void> {
    const owner = { principal, source: 'workflow' } as const;
    await database
      .forTenant(principal.tenantId)
      .transaction((entities) => metering.record(entities, owner, priced));
  }

  return {
    async ofSuccess(principal, uses) {
      const priced = await metering.price(uses);
      const usage = usageOf(priced);
      const owner = { principal, source: 'workflow' } as const;
      if (commitsWithStep) return { usage, also: (entities) => metering.record(entities, owner, priced) };
      await recordApart(principal, priced);
      return { usage };
    },
    async ofFailure(principal, uses) {
      if (uses.length > 0) await recordApart(principal, await metering.price(uses));
    },
  };
}

/** Uses added up, under the names of the usage routes (decisions 1.8). `cost_usd` is 0 where no price is set. Pure. */
export function usageOf(uses: readonly PricedUse[]): JsonObject {
  const sum = (of: (use: PricedUse) => number) => uses.reduce((total, use) => total + of(use), 0);
  const input = sum((use) => use.inputTokens);
  const output = sum((use) => use.outputTokens);
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: sum((use) => use.cacheReadTokens),
    cache_write_tokens: sum((use) => use.cacheWriteTokens),
    total_tokens: input + output,
    // The exact decimals are in the usage records; here the noise of adding up is cut off.
    cost_usd: Number(sum((use) => Number(use.costUsd)).toFixed(12)),
    requests: uses.length,
  };
}
