import type { ExecutionContext } from 'ava';
import type { Egress } from '../../../../foundation/egress/egress.ts';
import { auditLogRoutes } from '../../../../plugins/platform/routes/audit-logs.ts';
import { egressLogRoute, egressRuleRoutes } from '../../../../plugins/platform/routes/egress.ts';
import { createEgressAdministration } from '../../../../plugins/platform/services/egress-administration.ts';
import { startTestGateway, type TestGateway } from '../../../../testing/index.ts';
import { testPlugin } from '../../../support/plugins.ts';
import { DEFAULT_TENANT } from '../platform-gateway.ts';

/** A request per test is not what these tests are about. */
const PLENTY = 100_000;

/** A gateway with the egress routes and the audit log, and nothing else. */
export interface EgressGateway extends TestGateway {
  readonly egress: Egress;
  /** Makes a tenant and returns its id. */
  tenant(): Promise<string>;
  /** Makes a key, of the default tenant unless another is named, and returns its raw value. */
  key(settings: {
    tenant_id?: string;
    roles?: readonly string[];
    scopes?: readonly string[];
  }): Promise<string>;
}

/** The routes as the platform has them. */
const routes = testPlugin('egress-routes', {
  setup(scope) {
    const { audit, egress } = scope.services;
    scope.route(
      ...egressRuleRoutes(createEgressAdministration(egress.rules)),
      egressLogRoute(audit),
      ...auditLogRoutes(audit),
    );
  },
});

/** Starts it; it is stopped when the test ends. */
export async function startEgressGateway(
  t: ExecutionContext,
  options: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<EgressGateway> {
  const gateway = await startTestGateway({ ...options, plugins: [routes] });
  t.teardown(gateway.stop);
  const { tenants, apiKeys, egress } = gateway.gateway.services;
  await tenants.update(DEFAULT_TENANT, { rateLimitRpm: PLENTY });
  return Object.assign(gateway, {
    egress,
    tenant: async () => (await tenants.create({ name: 'Acme', rateLimitRpm: PLENTY })).id,
    key: async ({
      tenant_id = DEFAULT_TENANT,
      roles = ['user'],
      scopes = [],
    }: Parameters<EgressGateway['key']>[0]) => {
      const settings = { tenantId: tenant_id, name: 'test', roles, scopes, expiresAt: null, createdBy: null };
      return (await apiKeys.create(settings)).key;
    },
  });
}
