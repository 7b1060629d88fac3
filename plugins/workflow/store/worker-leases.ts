import type { Database } from 'agent-gateway';
import { sql } from 'kysely';
import type { RunStore } from '../services/ports/run-store.ts';
import { createEngineSql, nowSql } from './engine-sql.ts';
import type { WorkflowTables } from './tables.ts';

/** Milliseconds after its end for which a worker that owns nothing is kept, for operators who inspect the table. */
const REMEMBERED_MS = 3_600_000;

/**
 * Milliseconds, longer than any lease: what was written so far in the future was written by a clock that was ahead, and
 * set back since.
 */
const AHEAD_MS = 20 * 60_000;

/** The leases of workers, on the database's clock; one statement each, but for `join`. */
export function createWorkerLeases(
  database: Database,
  tables: WorkflowTables,
): Pick<RunStore, 'join' | 'renew' | 'leave'> {
  const run = createEngineSql(database);
  const workers = sql.table(tables.workers.meta.tableName);
  const runs = sql.table(tables.runs.meta.tableName);
  const steps = sql.table(tables.steps.meta.tableName);
  const isThere =
    database.family === 'mysql' ? sql`on duplicate key update` : sql`on conflict (id) do update set`;

  /**
   * Finds work again that a clock which was ahead has left, and that would wait until that time comes: dead workers
   * lose their leases in `leaseMs` (the living renew theirs before), and what may begin at once may. Reads without
   * locks first: there is hardly ever anything.
   */
  async function followClock(leaseMs: number): Promise<void> {
    const now = await nowSql(database);
    type Found = { readonly id: string; readonly tenant_id: string };
    const lasting = sql`expires_at > ${now} + ${AHEAD_MS}`;
    const { rows: early } = await run(sql<Pick<Found, 'id'>>`select id from ${workers} where ${lasting}`);
    for (const { id } of early)
      await run(sql`update ${workers} set expires_at = ${now} + ${leaseMs} where id = ${id} and ${lasting}`);
    const asleep = sql`owner is null and wake_at > ${now} and updated_at > ${now} + ${AHEAD_MS}`;
    const { rows: ready } =
      await run(sql<Found>`select tenant_id, id from ${runs} where ${asleep} and exists (
      select 1 from ${steps} where tenant_id = ${runs}.tenant_id and run_id = ${runs}.id
        and status = 'pending' and ready_at is null)`);
    for (const { tenant_id, id } of ready)
      await run(
        sql`update ${runs} set wake_at = ${now} where tenant_id = ${tenant_id} and id = ${id} and ${asleep}`,
      );
  }

  return {
    async join(worker, leaseMs) {
      await followClock(leaseMs);
      const now = await nowSql(database);
      await run(sql`delete from ${workers} where expires_at < ${now} - ${REMEMBERED_MS}
        and not exists (select 1 from ${runs} where owner = ${workers}.id)`);
      const until = sql`${now} + ${leaseMs}`;
      await run(sql`insert into ${workers} (id, expires_at) values (${worker}, ${until})
        ${isThere} expires_at = ${until}`);
    },

    async renew(worker, leaseMs) {
      const now = await nowSql(database);
      const { changed } = await run(sql`update ${workers} set expires_at = ${now} + ${leaseMs}
        where id = ${worker} and expires_at > ${now}`);
      return changed > 0;
    },

    async leave(worker) {
      await run(sql`delete from ${workers} where id = ${worker}`);
    },
  };
}
