import {
  type Clock,
  defineErrors,
  type Identity,
  isOperator,
  type Page,
  reachedTenant,
  reachOf,
  type TenantPage,
  type TenantRecord,
  type TenantSettings,
  type Tenants,
} from 'agent-gateway';
import type { Provisioning } from '../../records/contract.ts';

/** The settings of a new tenant; absent members get the kernel's defaults. */
type NewTenant = Partial<TenantSettings> & Pick<TenantSettings, 'name'>;

/**
 * What administrators do with tenants (specification 1, Tenants; decisions 0.6, 1.1). Every method checks the caller.
 */
export type TenantAdministration = ReturnType<typeof createTenantAdministration>;

/** Makes the service. `retention` is the time in milliseconds during which a deleted tenant can be restored. */
export function createTenantAdministration(options: {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly retention: number;
  /** Gives a new tenant its skills, in the background. */
  readonly provisioning: Provisioning;
}) {
  const { tenants, clock, retention, provisioning } = options;

  /** A tenant within reach, deleted ones too. */
  const get = (identity: Identity, id: string) => reachedTenant(tenants, identity, id);

  return {
    get,
    /** Operators: all tenants. Others: their own. */
    list: (identity: Identity, page: Page, includeDeleted: boolean): Promise<TenantPage> =>
      tenants.list({ ...page, includeDeleted, only: reachOf(identity) }),
    /** Operators only. */
    async create(identity: Identity, settings: NewTenant): Promise<TenantRecord> {
      requireOperator(identity, 'create tenants');
      const tenant = await tenants.create(settings);
      await provisioning.kick(tenant.id);
      return tenant;
    },
    /** Changes the given settings; only operators change plan and limits. */
    async update(identity: Identity, id: string, settings: Partial<TenantSettings>): Promise<TenantRecord> {
      const current = await get(identity, id);
      return tenants.update(id, permittedChanges(identity, current, settings));
    },
    /** Operators only. A repeated call returns the same as the first. */
    async scheduleDelete(identity: Identity, id: string): Promise<TenantRecord> {
      await get(identity, id);
      requireOperator(identity, 'delete tenants');
      return tenants.scheduleDelete(id, new Date(clock.now() + retention));
    },
    /** Operators only. */
    async restore(identity: Identity, id: string): Promise<TenantRecord> {
      await get(identity, id);
      requireOperator(identity, 'restore tenants');
      return tenants.restore(id);
    },
  };
}

/** The errors of the rules about tenants. */
const TenantRuleErrors = defineErrors({
  operatorOnly: {
    code: 'tenant.operator-only',
    kind: 'forbidden',
    title: 'Only administrators of the default tenant may do this',
  },
});

/**
 * The settings that decide what a tenant may consume, by their names on the wire. Its own administrators do not change
 * them.
 */
const GOVERNED = { plan: 'plan', rateLimitRpm: 'rate_limit_rpm', maxSessions: 'max_sessions' } as const;

/** Throws `tenant.operator-only` unless the caller is an operator (decisions 0.6). */
export function requireOperator(identity: Identity, action: string): void {
  if (isOperator(identity)) return;
  throw TenantRuleErrors.operatorOnly(`Only administrators of the default tenant may ${action}.`);
}

/**
 * The part of `wanted` that the caller may write. Operators write everything; the tenant's own administrators its name
 * and its chat context. Governed settings that they send back unchanged are left out, so that a client can send back a
 * record that it has read; throws `tenant.operator-only` naming those that differ from `current`.
 */
export function permittedChanges(
  identity: Identity,
  current: TenantRecord,
  wanted: Partial<TenantSettings>,
): Partial<TenantSettings> {
  if (isOperator(identity)) return wanted;
  const differing = Object.entries(GOVERNED).filter(([field]) => {
    const value = wanted[field as keyof typeof GOVERNED];
    return value !== undefined && value !== current[field as keyof typeof GOVERNED];
  });
  if (differing.length > 0) {
    const errors = differing.map(([, name]) => ({ pointer: `/body/${name}`, message: 'may not be changed' }));
    throw TenantRuleErrors.operatorOnly(
      'Only administrators of the default tenant may change plan and limits.',
      {
        errors,
      },
    );
  }
  return { name: wanted.name, chatContext: wanted.chatContext };
}
