import {
  type Database,
  defineErrors,
  type Identity,
  type TenantEntityManager,
  TenantErrors,
  type Tenants,
} from 'agent-gateway';
import {
  DEFAULT_SANDBOX_POLICY,
  type SandboxPolicies,
  type SandboxPolicy,
} from '../../agent-engine/contract.ts';
import { isId, requireReach } from './reach.ts';

/** The policy in force for a tenant. */
export interface PolicyInForce {
  readonly policy: SandboxPolicy;
  /** True where the tenant has no policy of its own. */
  readonly isDefault: boolean;
}

/** What administrators do with sandbox policies (decisions 0.6, 1.8). Every verb throws `tenant.not-found` for a tenant out of reach. */
export interface SandboxPolicyAdministration {
  get(identity: Identity, tenantId: string): Promise<PolicyInForce>;
  /** Gives the tenant a policy of its own, over the one that it has. */
  replace(identity: Identity, tenantId: string, policy: SandboxPolicy): Promise<PolicyInForce>;
  /** Back to the default. Throws `sandbox-policy.not-found` where it is in force. */
  remove(identity: Identity, tenantId: string): Promise<void>;
}

/** What the administration of sandbox policies refuses. */
export const SandboxPolicyErrors = defineErrors({
  notFound: {
    code: 'sandbox-policy.not-found',
    kind: 'not-found',
    title: 'The tenant has no sandbox policy of its own',
  },
});

/** Makes the service. */
export function createSandboxPolicyAdministration(options: {
  readonly policies: SandboxPolicies;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly database: Pick<Database, 'forTenant'>;
}): SandboxPolicyAdministration {
  const { policies, tenants, database } = options;

  /** The rows of a tenant that the caller reaches and that exists. */
  async function reached(identity: Identity, tenantId: string): Promise<TenantEntityManager> {
    requireReach(identity, tenantId);
    const tenant = isId(tenantId) ? await tenants.get(tenantId) : undefined;
    if (tenant === undefined) throw TenantErrors.notFound();
    return database.forTenant(tenantId);
  }

  return {
    async get(identity, tenantId) {
      const own = await policies.find(await reached(identity, tenantId));
      return { policy: own ?? DEFAULT_SANDBOX_POLICY, isDefault: own === undefined };
    },
    async replace(identity, tenantId, policy) {
      await policies.replace(await reached(identity, tenantId), policy);
      return { policy, isDefault: false };
    },
    async remove(identity, tenantId) {
      const isRemoved = await policies.remove(await reached(identity, tenantId));
      if (!isRemoved) throw SandboxPolicyErrors.notFound();
    },
  };
}
