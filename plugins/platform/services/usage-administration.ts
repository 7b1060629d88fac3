import {
  type Database,
  type FieldError,
  type Identity,
  narrowedTo,
  type Page,
  reachOf,
  requireSound,
  type Tenants,
} from 'agent-gateway';
import type {
  TenantUsage,
  UsageGranularity,
  UsagePeriod,
  UsageReports,
  UsageRow,
} from '../../records/contract.ts';

/** The usage of a tenant, with its name. */
export interface NamedTenantUsage extends TenantUsage {
  readonly name: string;
}

/** The usage reports for billing (specification 1, Admin governance routes; decisions 0.6, 1.8). */
export type UsageAdministration = ReturnType<typeof createUsageAdministration>;

/** Makes the service. */
export function createUsageAdministration(options: {
  readonly reports: UsageReports;
  readonly tenants: Pick<Tenants, 'list'>;
  readonly database: Pick<Database, 'forTenant'>;
}) {
  const { reports, tenants, database } = options;
  return {
    /**
     * Usage by date. Operators: of all tenants together (`tenantId` is then null), or of `wanted`. Others: their own;
     * empty for a foreign tenant.
     */
    async byDate(
      identity: Identity,
      wanted: string | undefined,
      period: UsagePeriod,
      granularity: UsageGranularity,
    ): Promise<{ readonly tenantId: string | null; readonly rows: readonly UsageRow[] }> {
      const only = narrowedTo(identity, wanted);
      if (only === null) return { tenantId: wanted ?? null, rows: [] };
      if (only === undefined) return { tenantId: null, rows: await reports.ofAll(period, granularity) };
      const rows = await reports.ofTenant(database.forTenant(only), period, granularity);
      return { tenantId: only, rows };
    },
    /**
     * Usage by tenant, the newest tenant first, including tenants that are deleted but not purged. Callers other than
     * operators: their own.
     */
    async byTenant(
      identity: Identity,
      period: UsagePeriod,
      page: Page,
    ): Promise<{ readonly tenants: readonly NamedTenantUsage[]; readonly total: number }> {
      const listed = await tenants.list({ ...page, includeDeleted: 'unpurged', only: reachOf(identity) });
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
/** Days before the last one, where no `from` is given. */
const DEFAULT_DAYS = 30;

/**
 * The period of a usage report. Without `to` it ends now (or begins and ends with a `from` in the future, so that
 * clocks that differ cause no error); without `from` it begins with the day, by UTC, that was 30 days before its end.
 * Throws 400 naming `from` when it ends before it begins.
 */
export function usagePeriod(
  { from, to }: { readonly from?: Date | undefined; readonly to?: Date | undefined },
  now: number,
): UsagePeriod {
  const end = to?.getTime() ?? Math.max(now, from?.getTime() ?? now);
  const start = from?.getTime() ?? (Math.floor(end / DAY_MS) - DEFAULT_DAYS) * DAY_MS;
  requireSound(orderProblems({ from, to }));
  return { from: new Date(start), to: new Date(end) };
}

/** What is wrong with the order of the ends of a period: one that is open at an end is always in order. Pure. */
export function orderProblems({
  from,
  to,
}: {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}): readonly FieldError[] {
  if (from === undefined || to === undefined || from <= to) return [];
  return [{ pointer: '/query/from', message: 'must not be later than `to`' }];
}
