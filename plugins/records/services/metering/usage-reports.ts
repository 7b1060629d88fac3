import type { Database } from 'agent-gateway';
import type { UsageGranularity, UsagePeriod, UsageReports } from '../../contract.ts';
import { storableText } from '../../store/usage/storable-text.ts';
import { findSessionUsage, USAGE_LENGTHS } from '../../store/usage/usage-record.ts';
import { sumByDay, sumByDayOfAll, sumByTenant, type UsageWindow } from '../../store/usage/usage-sums.ts';
import { storedName } from '../sessions/ownership.ts';
import { dayOf, toRecord } from './usage-row.ts';
import { NO_USAGE, toLines, toTotals } from './usage-totals.ts';

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
    async ofSession(entities, sessionId, { identityId, userId }, page) {
      const where = {
        sessionId: storableText(sessionId, USAGE_LENGTHS.sessionId),
        ...(identityId !== undefined && { identityId: storedName(identityId) }),
        ...(userId !== undefined && { userId: storedName(userId) }),
      };
      const [rows, total] = await findSessionUsage(entities, where, page);
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
