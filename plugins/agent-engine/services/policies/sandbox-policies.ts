import { type Clock, createSharedCache, type Database, type KernelServices, type Scope } from 'agent-gateway';
import {
  DEFAULT_SANDBOX_POLICY,
  type SandboxPolicies,
  type SandboxPolicy,
  SandboxPolicyChanged,
} from '../../contract.ts';
import { deletePolicy, findPolicy, savePolicy } from '../../store/policies/sandbox-policy-row.ts';

const MAX_AGE_MS = 1000;
const MAX_TENANTS = 10_000;

/** The sandbox policies, and what the plugin wires to them. */
export interface OpenSandboxPolicies extends SandboxPolicies {
  /** Another replica changed the policy of a tenant. */
  forget(tenantId: string): void;
  /** Changes of other replicas may have been missed. */
  forgetAll(): void;
}

/** Opens the policies; one that another replica changes is read again. */
export function openSandboxPolicies(scope: Pick<Scope, 'services' | 'on' | 'defer'>): SandboxPolicies {
  const { clock, database, events } = scope.services;
  const policies = createSandboxPolicies({ clock, database, events });
  scope.on(SandboxPolicyChanged, ({ tenantId }) => policies.forget(tenantId));
  scope.defer(events.onMissed(policies.forgetAll));
  return policies;
}

/** Makes the service (decisions 1.8). Every tool call asks it, so policies are kept for a second. */
export function createSandboxPolicies(options: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly events: Pick<KernelServices['events'], 'emit'>;
}): OpenSandboxPolicies {
  const { database, clock, events } = options;
  const recent = createSharedCache<SandboxPolicy>({
    load: async (tenantId) => (await findPolicy(database.forTenant(tenantId))) ?? DEFAULT_SANDBOX_POLICY,
    clock,
    maxAge: MAX_AGE_MS,
    maxEntries: MAX_TENANTS,
    weigh: ({ allowedTools }) => allowedTools?.length ?? 0,
  });

  /** Also after a failure: a write whose answer was lost has happened. */
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
    replace: (entities, policy) =>
      changing(entities.tenantId, savePolicy(entities, policy, new Date(clock.now()))),
    remove: (entities) => changing(entities.tenantId, deletePolicy(entities)),
    forget: recent.forget,
    forgetAll: recent.clear,
  };
}
