import type { Clock, Database, Ids, Leases, TenantEntityManager } from 'agent-gateway';
import {
  addUpDay,
  dayAfter,
  dayOfTenantAfter,
  findResetDays,
  findResets,
  findThroughDay,
  findWrongDays,
  moveResets,
  resetUsage,
  saveThroughDay,
} from '../../store/usage-days.ts';
import { dayOf, daysFrom } from './usage-period.ts';

/**
 * Days that must have passed after a day before it is added up. By then every record of it is written, even if the
 * clocks of replicas differ.
 */
const SETTLED_DAYS = 1;
/** Days that are counted again with each day that is added up, for records that arrived late nevertheless. */
const RECOUNTED_DAYS = 3;
/** No record is older. */
const FIRST_DAY = '1970-01-01';
const LEASE = 'usage-rollup';

/** What the rollup works with. */
interface UsageRollupParts {
  readonly database: Pick<Database, 'system' | 'transaction' | 'now' | 'forTenant'>;
  readonly leases: Pick<Leases, 'tryAcquire'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
}

/** Adds up the usage of days that are over, once, so that reports read a row for each day and no records. */
export function createUsageRollup({ database, leases, clock, ids }: UsageRollupParts) {
  /**
   * The last day that may be added up, by the earlier one of two clocks: a day that is added up too early lacks what
   * comes later. `latest` is that by the later one: no day after it can have been due.
   */
  async function dueDays(): Promise<{ readonly due: string; readonly latest: string }> {
    const times = [clock.now(), await database.now()];
    const dueAt = (time: number) => daysFrom(dayOf(new Date(time)), -1 - SETTLED_DAYS);
    return { due: dueAt(Math.min(...times)), latest: dueAt(Math.max(...times)) };
  }

  async function closeDays(through: string, due: string, signal: AbortSignal): Promise<void> {
    for (let closed = through; closed < due && !signal.aborted; ) {
      const next = await dayAfter(database, closed);
      const isDue = next !== undefined && next <= due;
      closed = isDue ? next : due;
      await database.transaction(async (em) => {
        if (isDue) await addUpDay(em, closed);
        await saveThroughDay(em, closed);
      });
    }
  }

  async function recount(through: string): Promise<void> {
    const range = { firstDay: daysFrom(through, 1 - RECOUNTED_DAYS), lastDay: through };
    for (const { tenantId, day } of await findWrongDays(database, range)) {
      await resetUsage(database.forTenant(tenantId), ids.uuid(), day);
    }
  }

  /** Adds up the days of a tenant again, one by one. Resets that are written meanwhile are not touched. */
  async function repair(tenantId: string, fromDay: string, through: string, signal: AbortSignal) {
    const entities = database.forTenant(tenantId);
    const resets = await findResets(entities);
    for (let done = daysFrom(fromDay, -1); !signal.aborted; ) {
      const day = await dayOfTenantAfter(entities, done, through);
      await database.transaction(async (em) => {
        if (day !== undefined) await addUpDay(em, day, tenantId);
        await moveResets(em, resets, day === undefined ? undefined : daysFrom(day, 1));
      });
      if (day === undefined) return;
      done = day;
    }
  }

  async function addUp(signal: AbortSignal): Promise<void> {
    const { due, latest } = await dueDays();
    let before = await findThroughDay(database);
    // A clock was ahead: days that are not over count as added up, and whole days since then may lack their calls. All
    // are added up anew, and reports read records until then.
    if (before > latest) {
      before = '';
      await saveThroughDay(database.system(), before);
    }
    if (before < due) {
      if (before !== '') await recount(before);
      await closeDays(before, due, signal);
    }
    const through = await findThroughDay(database);
    for (const [tenantId, fromDay] of await findResetDays(database)) {
      if (signal.aborted) return;
      await repair(tenantId, fromDay, through, signal);
    }
  }

  return {
    /**
     * Adds up what is due, in one replica at a time: days that have been over for a day, and those of tenants whose
     * records were erased. Each day is a transaction of its own, and an abort leaves the rest to the next run.
     */
    async run(signal: AbortSignal): Promise<void> {
      const through = await findThroughDay(database);
      const { due, latest } = await dueDays();
      const isClosed = through >= due && through <= latest;
      if (isClosed && (await findResetDays(database)).size === 0) return;
      const lease = await leases.tryAcquire(LEASE);
      if (typeof lease === 'string') return;
      await using held = lease;
      await addUp(AbortSignal.any([signal, held.signal]));
    },
  };
}

/**
 * Makes reports read all records of the tenant until its days are added up again, in the caller's transaction. Called
 * when records were erased.
 */
export function addUpAgain(entities: TenantEntityManager, ids: Pick<Ids, 'uuid'>): Promise<void> {
  return resetUsage(entities, ids.uuid(), FIRST_DAY);
}
