import { type SandboxPolicies, SandboxPolicyChanged } from '../../../../plugins/agent-engine/contract.ts';
import { createSandboxPolicies } from '../../../../plugins/agent-engine/services/policies/sandbox-policies.ts';
import { entities as ofEngine } from '../../../../plugins/agent-engine/store/entities.ts';
import { migrations as engineMigrations } from '../../../../plugins/agent-engine/store/migrations.ts';
import { executionReceiptRoutes } from '../../../../plugins/platform/routes/execution-receipts.ts';
import { pricingRuleRoutes } from '../../../../plugins/platform/routes/pricing-rules.ts';
import { sandboxPolicyRoutes } from '../../../../plugins/platform/routes/sandbox-policy.ts';
import { adminUsageRoutes, usageRoutes } from '../../../../plugins/platform/routes/usage.ts';
import { createSandboxPolicyAdministration } from '../../../../plugins/platform/services/sandbox-policy-administration.ts';
import { createUsageAdministration } from '../../../../plugins/platform/services/usage-administration.ts';
import { type Metering, PricingChanged, type Receipts } from '../../../../plugins/records/contract.ts';
import { createMetering } from '../../../../plugins/records/services/metering/metering.ts';
import { createPricing } from '../../../../plugins/records/services/metering/pricing.ts';
import { createUsageReports } from '../../../../plugins/records/services/metering/usage-reports.ts';
import { createReceipts } from '../../../../plugins/records/services/receipts.ts';
import { entities } from '../../../../plugins/records/store/entities.ts';
import { migrations } from '../../../../plugins/records/store/migrations.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../../testing/index.ts';
import { testPlugin } from '../../../support/plugins.ts';
import type { Lifetime } from '../../../support/shared.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';

/** A request per test is not what these tests are about. */
const PLENTY = 100_000;

/** A gateway with what is kept about the work of agents, its routes, and nothing else. */
export interface EngineGateway extends TestGateway {
  readonly receipts: Receipts;
  readonly metering: Metering;
  readonly policies: SandboxPolicies;
  /** Makes a tenant and returns its id. */
  tenant(name?: string): Promise<string>;
  /** Makes a key, of the default tenant unless another is named. */
  key(settings: {
    tenant_id?: string;
    roles?: readonly string[];
    scopes?: readonly string[];
  }): Promise<{ readonly id: string; readonly token: string }>;
}

/** Starts it; it is stopped when the test ends, or the file. */
export async function startEngineGateway(
  t: Lifetime,
  options: Omit<TestGatewayOptions, 'plugins'> = {},
): Promise<EngineGateway> {
  let services: Pick<EngineGateway, 'receipts' | 'metering' | 'policies'> | undefined;
  const engine = testPlugin('agent-engine', { entities: ofEngine, migrations: engineMigrations });
  const plugin = testPlugin('records', {
    entities,
    migrations,
    setup(scope) {
      const { clock, database, events, ids, tenants } = scope.services;
      const receipts = createReceipts({ clock, ids });
      const pricing = createPricing({ database, clock, events });
      const policies = createSandboxPolicies({ database, clock, events });
      const reports = createUsageReports({ database });
      const metering = createMetering({ pricing, clock, ids });
      services = { receipts, metering, policies };
      scope.on(PricingChanged, pricing.forget);
      scope.on(SandboxPolicyChanged, ({ tenantId }) => policies.forget(tenantId));
      scope.defer(events.onMissed(pricing.forget));
      scope.defer(events.onMissed(policies.forgetAll));
      scope.route(
        ...executionReceiptRoutes(receipts),
        ...usageRoutes(reports, clock),
        ...adminUsageRoutes(createUsageAdministration({ reports, tenants, database }), clock),
        ...pricingRuleRoutes(pricing),
        ...sandboxPolicyRoutes(createSandboxPolicyAdministration({ policies, tenants, database })),
      );
    },
  });
  const gateway = await startTestGateway({ ...options, plugins: [plugin, engine] });
  t.teardown(gateway.stop);
  if (services === undefined) throw new Error('the plugin was not set up');
  const { tenants, apiKeys } = gateway.gateway.services;
  return Object.assign(gateway, services, {
    tenant: async (name = 'Acme') => (await tenants.create({ name, rateLimitRpm: PLENTY })).id,
    key: async ({
      tenant_id = DEFAULT_TENANT,
      roles = ['user'],
      scopes = [],
    }: Parameters<EngineGateway['key']>[0]) => {
      const settings = { tenantId: tenant_id, name: 'test', roles, scopes, expiresAt: null, createdBy: null };
      const { record, key } = await apiKeys.create(settings);
      return { id: record.id, token: key };
    },
  });
}
