import { type Database, type Identity, isOperator, type Page, type Tenants } from 'agent-gateway';
import type {
  TenantUsage,
  UsageGranularity,
  UsagePeriod,
  UsageReports,
  UsageRow,
} from '../../records/contract.ts';
import { isId, reachOf } from './reach.ts';

/** The usage of a tenant, with its name. */
export interface NamedTenantUsage extends TenantUsage {
  readonly name: string;
}

/** What billing asks about usage (specification 1, Admin governance routes; decisions 0.6, 1.8). */
export interface UsageAdministration {
  /**
   * Usage by date. Operators: of all tenants together (`tenantId` is then null), or of `tenantId`. Others: their own; a foreign
   * `tenantId` has none to show.
   */
  byDate(
    identity: Identity,
    tenantId: string | undefined,
    period: UsagePeriod,
    granularity: UsageGranularity,
  ): Promise<{ readonly tenantId: string | null; readonly rows: readonly UsageRow[] }>;
  /** Usage by tenant, the newest tenant first; those that are deleted but not purged too. Others than operators: their own. */
  byTenant(
    identity: Identity,
    period: UsagePeriod,
    page: Page,
  ): Promise<{ readonly tenants: readonly NamedTenantUsage[]; readonly total: number }>;
}

/** Makes the service. */
export function createUsageAdministration(options: {
  readonly reports: UsageReports;
  readonly tenants: Pick<Tenants, 'list'>;
  readonly database: Pick<Database, 'forTenant'>;
}): UsageAdministration {
  const { reports, tenants, database } = options;
  return {
    async byDate(identity, wanted, period, granularity) {
      if (wanted === undefined && isOperator(identity)) {
        return { tenantId: null, rows: await reports.ofAll(period, granularity) };
      }
      const tenantId = wanted ?? identity.tenantId;
      const isReached = isOperator(identity) || tenantId === identity.tenantId;
      if (!isReached || !isId(tenantId)) return { tenantId, rows: [] };
      const rows = await reports.ofTenant(database.forTenant(tenantId), period, granularity);
      return { tenantId, rows };
    },
    async byTenant(identity, period, page) {
      const only = reachOf(identity);
      const listed = await tenants.list({
        ...page,
        includeDeleted: true,
        ...(only !== undefined && { only }),
      });
      const ids = listed.records.map(({ id }) => id);
      const names = new Map(listed.records.map(({ id, name }) => [id, name]));
      const usages = await reports.byTenant(ids, period);
      return {
        tenants: usages.map((usage) => ({ ...usage, name: names.get(usage.tenantId) ?? '' })),
        total: listed.total,
      };
    },
  };
}
