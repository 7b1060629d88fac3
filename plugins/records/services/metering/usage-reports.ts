import type { Database } from 'agent-gateway';
import {
  storedName,
  type UsageGranularity,
  type UsagePeriod,
  type UsageReports,
  type UsageRow,
  type UsageTotals,
} from '../../contract.ts';
import { storableText } from '../../store/storable-text.ts';
import {
  findUsage,
  sumByDay,
  sumByDayOfAll,
  sumByTenant,
  USAGE_LENGTHS,
  type UsageSums,
  type UsageWindow,
} from '../../store/usage.ts';
import { dollarsOfParts } from './cost.ts';
import { dayOf, toRecord } from './usage-row.ts';

/** Makes the reports. */
export function createUsageReports({
  database,
}: {
  readonly database: Pick<Database, 'system'>;
}): UsageReports {
  return {
    async ofTenant(entities, period, granularity) {
      return toLines(await sumByDay(entities, toWindow(period)), LINES[granularity]);
    },
    async ofAll(period, granularity) {
      return toLines(await sumByDayOfAll(database, toWindow(period)), LINES[granularity]);
    },
    async byTenant(tenantIds, period) {
      if (tenantIds.length === 0) return [];
      const found = await sumByTenant(database, tenantIds, toWindow(period));
      const sums = new Map(found.map((row) => [row.tenantId, row]));
      return tenantIds.map((tenantId) => {
        const own = sums.get(tenantId);
        return { tenantId, sessions: own?.sessions ?? 0, ...toTotals(own ?? NO_USAGE) };
      });
    },
    async calls(entities, { sessionId, requestId }, { identityId, userId }, page) {
      const where = {
        ...(sessionId !== undefined && { sessionId: storableText(sessionId, USAGE_LENGTHS.sessionId) }),
        ...(requestId !== undefined && { requestId: storableText(requestId, USAGE_LENGTHS.requestId) }),
        ...(identityId !== undefined && { identityId: storedName(identityId) }),
        ...(userId !== undefined && { userId: storedName(userId) }),
      };
      const [rows, total] = await findUsage(entities, where, page);
      return { records: rows.map(toRecord), total };
    },
  };
}

const LINES: Readonly<Record<UsageGranularity, (day: string) => string>> = {
  day: (day) => day,
  month: (day) => day.slice(0, 7),
};

const FIRST = Date.UTC(1970, 0, 1);
const LAST = Date.UTC(9999, 11, 31);

/** The window of a period. Databases refuse years of more than four digits, in which there are no records anyway. */
function toWindow(period: UsagePeriod): UsageWindow {
  const [from, to] = [period.from, period.to].map(
    (moment) => new Date(Math.min(Math.max(moment.getTime(), FIRST), LAST)),
  ) as [Date, Date];
  return { firstDay: dayOf(from), lastDay: dayOf(to), from, to };
}

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
 * The sums of days as lines of a report, oldest first. `dateOf` says in which line a day belongs. The integers of the days are added,
 * so that a month is exactly what its days are together.
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
