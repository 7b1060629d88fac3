import { column, type Database, defineEntity } from 'agent-gateway';
import { sql } from 'kysely';
import type { RunStore } from '../services/ports/run-store.ts';
import { createEngineSql, nowSql } from './engine-sql.ts';
import { entityName, LENGTHS } from './rows.ts';
import type { WorkflowTables } from './tables.ts';

/** Processes that carry out steps, for all tenants. One is alive until `expires_at`, on the database's clock. */
export function workerTable(name: string) {
  return defineEntity({
    name: entityName(name, 'worker'),
    tableName: `${name}_workers`,
    properties: {
      id: column.string(LENGTHS.worker).primary(),
      expiresAt: column.bigint(),
    },
  });
}

/** Milliseconds after its end for which a worker that owns nothing is kept, for operators who inspect the table. */
const REMEMBERED_MS = 3_600_000;

/** The leases of workers, on the database's clock; one statement each. */
export function createWorkerLeases(
  database: Database,
  tables: WorkflowTables,
): Pick<RunStore, 'join' | 'renew' | 'leave'> {
  const run = createEngineSql(database);
  const workers = sql.table(tables.workers.meta.tableName);
  const runs = sql.table(tables.runs.meta.tableName);
  const isThere =
    database.family === 'mysql' ? sql`on duplicate key update` : sql`on conflict (id) do update set`;

  return {
    async join(worker, leaseMs) {
      const until = sql`${await nowSql(database)} + ${leaseMs}`;
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
      const now = await nowSql(database);
      await run(sql`delete from ${workers} where id = ${worker} or (expires_at < ${now} - ${REMEMBERED_MS}
        and not exists (select 1 from ${runs} where owner = ${workers}.id))`);
    },
  };
}
