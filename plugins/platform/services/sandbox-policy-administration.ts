import {
  type Database,
  defineErrors,
  type Identity,
  livingTenant,
  reachedTenant,
  type TenantEntityManager,
  type Tenants,
} from 'agent-gateway';
import {
  DEFAULT_SANDBOX_POLICY,
  type SandboxPolicies,
  type SandboxPolicy,
} from '../../agent-engine/contract.ts';

/** The policy in force for a tenant. */
export interface PolicyInForce {
  readonly policy: SandboxPolicy;
  /** True where the tenant has no policy of its own. */
  readonly isDefault: boolean;
}

/** The errors of the administration of sandbox policies. */
export const SandboxPolicyErrors = defineErrors({
  notFound: {
    code: 'sandbox-policy.not-found',
    kind: 'not-found',
    title: 'The tenant has no sandbox policy of its own',
  },
});

/**
 * What administrators do with sandbox policies (decisions 0.6, 1.8). Every verb throws `tenant.not-found` for a tenant
 * out of reach.
 */
export type SandboxPolicyAdministration = ReturnType<typeof createSandboxPolicyAdministration>;

/** Makes the service. */
export function createSandboxPolicyAdministration(options: {
  readonly policies: SandboxPolicies;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly database: Pick<Database, 'forTenant'>;
}) {
  const { policies, tenants, database } = options;

  async function inForce(entities: TenantEntityManager): Promise<PolicyInForce> {
    const own = await policies.find(entities);
    return { policy: own ?? DEFAULT_SANDBOX_POLICY, isDefault: own === undefined };
  }

  return {
    async get(identity: Identity, tenantId: string): Promise<PolicyInForce> {
      await reachedTenant(tenants, identity, tenantId);
      return inForce(database.forTenant(tenantId));
    },
    /**
     * Changes the tenant's own policy, or gives it one; absent members stay as they are in force. Throws
     * `tenant.deleted`.
     */
    async change(
      identity: Identity,
      tenantId: string,
      changes: Partial<SandboxPolicy>,
    ): Promise<PolicyInForce> {
      await livingTenant(tenants, identity, tenantId);
      const entities = database.forTenant(tenantId);
      await policies.change(entities, changes);
      return inForce(entities);
    },
    /**
     * Resets the policy to the default. Throws `sandbox-policy.not-found` where the default is in force, and
     * `tenant.deleted`.
     */
    async remove(identity: Identity, tenantId: string): Promise<void> {
      await livingTenant(tenants, identity, tenantId);
      const isRemoved = await policies.remove(database.forTenant(tenantId));
      if (!isRemoved) throw SandboxPolicyErrors.notFound();
    },
  };
}
