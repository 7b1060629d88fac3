import {
  type Clock,
  type Identity,
  type Page,
  TenantErrors,
  type TenantPage,
  type TenantRecord,
  type TenantSettings,
  type Tenants,
} from 'agent-gateway';
import type { Provisioning } from '../../records/contract.ts';
import { isId, reachOf, requireReach } from './reach.ts';
import { permittedChanges, requireOperator } from './tenant-rules.ts';

/** A tenant that is to be made; what is absent is the kernel's default. */
export type NewTenant = Partial<TenantSettings> & Pick<TenantSettings, 'name'>;

/** What administrators do with tenants (specification 1, Tenants; decisions 0.6, 1.1). Every verb asks who is calling. */
export interface TenantAdministration {
  /** Operators: all tenants. Others: their own. */
  list(identity: Identity, page: Page, includeDeleted: boolean): Promise<TenantPage>;
  /** Operators only. */
  create(identity: Identity, settings: NewTenant): Promise<TenantRecord>;
  /** A tenant within reach, deleted ones too. */
  get(identity: Identity, id: string): Promise<TenantRecord>;
  /** Changes what is given; plan and limits are the operators'. */
  update(identity: Identity, id: string, settings: Partial<TenantSettings>): Promise<TenantRecord>;
  /** Operators only. Repeated, it answers like the first time. */
  scheduleDelete(identity: Identity, id: string): Promise<TenantRecord>;
  /** Operators only. */
  restore(identity: Identity, id: string): Promise<TenantRecord>;
}

/** Makes the service. `retention` is the time in milliseconds during which a deleted tenant can be restored. */
export function createTenantAdministration(options: {
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly retention: number;
  /** Brings a new tenant its skills, in the background. */
  readonly provisioning: Provisioning;
}): TenantAdministration {
  const { tenants, clock, retention, provisioning } = options;

  async function get(identity: Identity, id: string): Promise<TenantRecord> {
    requireReach(identity, id);
    const record = isId(id) ? await tenants.get(id) : undefined;
    if (record === undefined) throw TenantErrors.notFound();
    return record;
  }

  return {
    get,
    list: (identity, page, includeDeleted) =>
      tenants.list({ ...page, includeDeleted, only: reachOf(identity) }),
    async create(identity, settings) {
      requireOperator(identity, 'create tenants');
      const tenant = await tenants.create(settings);
      await provisioning.kick(tenant.id);
      return tenant;
    },
    async update(identity, id, settings) {
      const current = await get(identity, id);
      return tenants.update(id, permittedChanges(identity, current, settings));
    },
    async scheduleDelete(identity, id) {
      await get(identity, id);
      requireOperator(identity, 'delete tenants');
      return tenants.scheduleDelete(id, new Date(clock.now() + retention));
    },
    async restore(identity, id) {
      await get(identity, id);
      requireOperator(identity, 'restore tenants');
      return tenants.restore(id);
    },
  };
}
