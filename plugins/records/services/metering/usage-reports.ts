import { type Database, storableText } from 'agent-gateway';
import {
  storedName,
  type UsageGranularity,
  type UsageReports,
  type UsageRow,
  type UsageTotals,
} from '../../contract.ts';
import {
  countSessions,
  type OfTenants,
  sumAcrossTenants,
  sumByDay,
  USAGE_LENGTHS,
  UsageRecordRow,
  type UsageSums,
} from '../../store/usage.ts';
import {
  findResetDay,
  findResetDays,
  findThroughDay,
  readDays,
  readDaysAcrossTenants,
  readSessions,
} from '../../store/usage-days.ts';
import { dollarsOfParts } from './cost.ts';
import { daysFrom, momentsOf, splitWindow, toWindow, type UsageParts } from './usage-period.ts';
import { toRecord } from './usage-row.ts';

/**
 * Makes the reports. Days that are added up are read as they are, the others from records; a tenant whose records were
 * erased is read separately.
 */
export function createUsageReports({
  database,
}: {
  readonly database: Pick<Database, 'system'>;
}): UsageReports {
  /** Sums across tenants, in groups. */
  async function sumAcross<By extends 'day' | 'tenantId'>(by: By, tenantId: OfTenants, parts: UsageParts) {
    const { added, open } = parts;
    const ofDays = added === undefined ? [] : await readDaysAcrossTenants(database, by, tenantId, added);
    const ofRecords = await inOrder(open, (window) => sumAcrossTenants(database, by, tenantId, window));
    return [...ofDays, ...ofRecords];
  }

  /**
   * How many different sessions tenants had: those of whole days, and those of the other windows that are not counted
   * already, by the whole days or by an earlier window.
   */
  async function sessionsAcross(tenantIds: readonly string[], { added, open }: UsageParts) {
    if (added === undefined) return inOrder(open, (window) => countSessions(database, tenantIds, window));
    const days = momentsOf(added);
    const ofDays = await readSessions(database, tenantIds, added);
    let known = days;
    const ofRecords = await inOrder(open, async (window) => {
      const found = await countSessions(database, tenantIds, window, known);
      // The window after the days must not count sessions of the days or of the window before them.
      known = { ...days, from: window.from };
      return found;
    });
    return [...ofDays, ...ofRecords];
  }

  return {
    async ofTenant(entities, period, granularity) {
      const reset = await findResetDay(entities);
      const { added, open } = splitWindow(toWindow(period), dayBefore(await findThroughDay(database), reset));
      const ofDays = added === undefined ? [] : await readDays(entities, added);
      const ofRecords = await inOrder(open, (window) => sumByDay(entities, window));
      return toLines([...ofDays, ...ofRecords], LINES[granularity]);
    },
    async ofAll(period, granularity) {
      const window = toWindow(period);
      const through = await findThroughDay(database);
      const resets = await findResetDays(database);
      const others = { $nin: [...resets.keys()] };
      const days = await sumAcross('day', others, splitWindow(window, through));
      const apart = await inOrder([...resets], ([tenantId, reset]) =>
        sumAcross('day', { $in: [tenantId] }, splitWindow(window, dayBefore(through, reset))),
      );
      return toLines([...days, ...apart], LINES[granularity]);
    },
    async byTenant(tenantIds, period) {
      if (tenantIds.length === 0) return [];
      const window = toWindow(period);
      const through = await findThroughDay(database);
      const resets = await findResetDays(database);
      const apart = tenantIds.filter((id) => resets.has(id));
      const groups = [
        { ids: tenantIds.filter((id) => !resets.has(id)), until: through },
        ...apart.map((id) => ({ ids: [id], until: dayBefore(through, resets.get(id)) })),
      ];
      const sums = new Map<string, UsageSums>();
      const sessions = new Map<string, number>();
      for (const { ids, until } of groups) {
        const parts = splitWindow(window, until);
        for (const { tenantId, ...more } of await sumAcross('tenantId', { $in: ids }, parts))
          sums.set(tenantId, plus(sums.get(tenantId) ?? NO_USAGE, more));
        for (const { tenantId, sessions: more } of await sessionsAcross(ids, parts))
          sessions.set(tenantId, (sessions.get(tenantId) ?? 0) + more);
      }
      return tenantIds.map((tenantId) => ({
        tenantId,
        sessions: sessions.get(tenantId) ?? 0,
        ...toTotals(sums.get(tenantId) ?? NO_USAGE),
      }));
    },
    async calls(entities, { sessionId, requestId }, { identityId, userId }, page) {
      const where = {
        ...(sessionId !== undefined && { sessionId: storableText(sessionId, USAGE_LENGTHS.sessionId) }),
        ...(requestId !== undefined && { requestId: storableText(requestId, USAGE_LENGTHS.requestId) }),
        ...(identityId !== undefined && { identityId: storedName(identityId) }),
        ...(userId !== undefined && { userId: storedName(userId) }),
      };
      const orderBy = { createdAt: 'desc', id: 'desc' } as const;
      const [rows, total] = await entities.page(UsageRecordRow, where, { orderBy, ...page });
      return { records: rows.map(toRecord), total };
    },
  };
}

/** What reading each of them gives, one after the other. */
async function inOrder<T, R>(items: readonly T[], read: (item: T) => Promise<readonly R[]>): Promise<R[]> {
  const found: R[] = [];
  for (const item of items) found.push(...(await read(item)));
  return found;
}

/** The last day whose sums are to be believed: before a reset, and not after `through`. */
function dayBefore(through: string, reset: string | undefined): string {
  return reset === undefined || reset > through ? through : daysFrom(reset, -1);
}

const LINES: Readonly<Record<UsageGranularity, (day: string) => string>> = {
  day: (day) => day,
  month: (day) => day.slice(0, 7),
};

/** Sums of no records. */
const NO_USAGE: UsageSums = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  estimated: 0,
  costMicros: 0,
  costPicos: 0,
  count: 0,
});

/** The sums of a report's line. */
function toTotals(sums: UsageSums): UsageTotals {
  return {
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    cacheReadTokens: sums.cacheReadTokens,
    cacheWriteTokens: sums.cacheWriteTokens,
    costUsd: dollarsOfParts({ micros: sums.costMicros, picos: sums.costPicos }),
    requests: sums.count,
    estimatedRequests: sums.estimated,
  };
}

/**
 * The sums of days as lines of a report, oldest first. `dateOf` gives the line that a day belongs to. The integers of
 * the days are added, so that a month is exactly the sum of its days.
 */
function toLines(
  days: readonly (UsageSums & { readonly day: string })[],
  dateOf: (day: string) => string,
): readonly UsageRow[] {
  const lines = new Map<string, UsageSums>();
  for (const { day, ...sums } of days) {
    const date = dateOf(day);
    lines.set(date, plus(lines.get(date) ?? NO_USAGE, sums));
  }
  return [...lines]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([date, sums]) => ({ date, ...toTotals(sums) }));
}

function plus(a: UsageSums, b: UsageSums): UsageSums {
  const names = Object.keys(NO_USAGE) as (keyof UsageSums)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as UsageSums;
}
