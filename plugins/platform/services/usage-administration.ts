import {
  type Database,
  type Identity,
  isOperator,
  KernelErrors,
  type Page,
  type Tenants,
} from 'agent-gateway';
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

const DAY_MS = 24 * 60 * 60 * 1000;
/** Days before the last one, where no beginning is given. */
const DEFAULT_DAYS = 30;

/**
 * The period of a usage report. Without `to` it ends now (or begins and ends with a `from` that lies ahead, so that clocks which differ are
 * no mistake); without `from` it begins with the day, by UTC, that was 30 days before its end. Throws 400 naming `from` when it ends
 * before it begins.
 */
export function usagePeriod(
  { from, to }: { readonly from?: Date | undefined; readonly to?: Date | undefined },
  now: number,
): UsagePeriod {
  const end = to?.getTime() ?? Math.max(now, from?.getTime() ?? now);
  const start = from?.getTime() ?? (Math.floor(end / DAY_MS) - DEFAULT_DAYS) * DAY_MS;
  if (start > end) {
    const errors = [{ pointer: '/query/from', message: 'must not be later than `to`' }];
    throw KernelErrors.invalidRequest(undefined, { errors });
  }
  return { from: new Date(start), to: new Date(end) };
}
