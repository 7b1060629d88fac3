import type { ExecutionContext } from 'ava';
import type { ModelUse, UsageOwner } from '../../../../../plugins/records/contract.ts';
import { createMetering } from '../../../../../plugins/records/services/metering/metering.ts';
import { createPricing } from '../../../../../plugins/records/services/metering/pricing.ts';
import { createUsageReports } from '../../../../../plugins/records/services/metering/usage-reports.ts';
import { usageDayEntities } from '../../../../../plugins/records/store/entities.ts';
import {
  usage as migration,
  usageDays,
  usageSpans,
} from '../../../../../plugins/records/store/migrations.ts';
import { PricingRuleRow } from '../../../../../plugins/records/store/pricing-rules.ts';
import { UsageRecordRow } from '../../../../../plugins/records/store/usage.ts';
import type { FreshDatabase } from '../../../../support/databases.ts';
import { engineTables } from '../../../agent-engine/engine-tables.ts';

export const A = '01900000-0000-7000-8000-00000000000a';
export const B = '01900000-0000-7000-8000-00000000000b';

/** Metering, prices and reports over a database of the test. */
export async function usageTables(t: ExecutionContext, fresh: FreshDatabase) {
  const engine = await engineTables(t, fresh, {
    entities: [UsageRecordRow, ...usageDayEntities, { entity: PricingRuleRow, tenancy: 'shared' }],
    migrations: [migration, usageSpans, usageDays],
  });
  const told: string[] = [];
  const events = { emit: ({ id }: { id: string }) => void told.push(id) };
  const { clock, ids, database } = engine;
  const openPricing = () => createPricing({ database, clock, events });
  const pricing = openPricing();
  const metering = createMetering({ pricing, clock, ids });
  return {
    ...engine,
    told,
    pricing,
    /** The pricing of another replica. */
    openPricing,
    metering,
    reports: createUsageReports({ database }),
    /** Prices uses and writes them in a transaction of the tenant, as a turn does. */
    async spend(tenantId: string, uses: readonly ModelUse[], owner: Partial<UsageOwner> = {}) {
      const priced = await metering.price(uses);
      const principal = { tenantId, identityId: 'key-1', userId: 'key-1' };
      await database
        .forTenant(tenantId)
        .transaction((entities) =>
          metering.record(entities, { principal, sessionId: 's1', source: 'chat', ...owner }, priced),
        );
    },
  };
}

/** A call of `fast`, behind which the provider's `gpt-x` stands. */
export function modelUse(changes: Partial<ModelUse> = {}): ModelUse {
  return {
    model: 'fast',
    provider: 'openai',
    providerModel: 'gpt-x',
    inputTokens: 1000,
    outputTokens: 100,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    isEstimated: false,
    ...changes,
  };
}
