import {
  type Clock,
  createSharedCache,
  type Database,
  type KernelServices,
  type Scope,
  type TenantEntityManager,
} from 'agent-gateway';
import {
  DEFAULT_SANDBOX_POLICY,
  type SandboxPolicies,
  type SandboxPolicy,
  SandboxPolicyChanged,
} from '../../contract.ts';
import { SandboxPolicyRow } from '../../store/sandbox-policy-row.ts';

const MAX_AGE_MS = 1000;
const MAX_TENANTS = 10_000;

/** Opens the policies; one that another replica changes is read again. */
export function openSandboxPolicies(scope: Pick<Scope, 'services' | 'on' | 'defer'>): SandboxPolicies {
  const { clock, database, events } = scope.services;
  const policies = createSandboxPolicies({ clock, database, events });
  scope.on(SandboxPolicyChanged, ({ tenantId }) => policies.forget(tenantId));
  scope.defer(events.onMissed(policies.forgetAll));
  return policies;
}

/** Makes the service (decisions 1.8). Every tool call asks it, so policies are cached for a second. */
export function createSandboxPolicies(options: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly events: Pick<KernelServices['events'], 'emit'>;
}) {
  const { database, clock, events } = options;
  const recent = createSharedCache<SandboxPolicy>({
    load: async (tenantId) => (await findPolicy(database.forTenant(tenantId))) ?? DEFAULT_SANDBOX_POLICY,
    clock,
    maxAge: MAX_AGE_MS,
    maxEntries: MAX_TENANTS,
    weigh: ({ allowedTools }) => allowedTools?.length ?? 0,
  });

  /** Forgets and notifies after a failure, too: a write whose answer was lost has happened. */
  async function changing<T>(tenantId: string, write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      recent.forget(tenantId);
      events.emit(SandboxPolicyChanged, { tenantId });
    }
  }

  return {
    of: recent.get,
    find: findPolicy,
    change(entities: TenantEntityManager, changes: Partial<SandboxPolicy>) {
      const { allowedTools: tools, ...policy } = { ...DEFAULT_SANDBOX_POLICY, ...changes };
      const allowedTools = tools === null ? null : JSON.stringify(tools);
      const row = { ...policy, allowedTools, updatedAt: new Date(clock.now()) };
      const update = [...(Object.keys(changes) as (keyof SandboxPolicy)[]), 'updatedAt'] as const;
      return changing(entities.tenantId, entities.upsert(SandboxPolicyRow, row, { conflict: [], update }));
    },
    remove: async (entities: TenantEntityManager) =>
      (await changing(entities.tenantId, entities.delete(SandboxPolicyRow, {}))) > 0,
    /** Another replica changed the policy of a tenant. */
    forget: recent.forget,
    /** Changes of other replicas may have been missed. */
    forgetAll: recent.clear,
  };
}

/** The tenant's own policy. */
async function findPolicy(entities: TenantEntityManager): Promise<SandboxPolicy | undefined> {
  const row = await entities.findOne(SandboxPolicyRow, {});
  if (row === null) return undefined;
  const { enabled, maxTimeoutSeconds, allowDocker, restrictNetwork, maxOutputKb } = row;
  const allowedTools = row.allowedTools === null ? null : JSON.parse(row.allowedTools);
  return { enabled, maxTimeoutSeconds, allowedTools, allowDocker, restrictNetwork, maxOutputKb };
}
