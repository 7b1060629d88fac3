import type { Database } from 'agent-gateway';
import { sql } from 'kysely';
import type { RunPlace } from '../contract/engine.ts';
import type { RunStore } from '../services/ports/run-store.ts';
import { createEngineSql, nowSql } from './engine-sql.ts';
import type { WorkflowTables } from './tables.ts';

interface PlaceRow {
  readonly tenant_id: string;
  readonly id: string;
}

const place = ({ tenant_id, id }: PlaceRow): RunPlace => ({ tenantId: tenant_id, runId: id });

/**
 * The runs that workers have to see to, over all tenants: those that are due, and those whose worker is dead (`orphans`). Reads without locks: a commit
 * is guarded by the run's revision anyway.
 */
export function createDueAndOrphanedRuns(
  database: Database,
  tables: WorkflowTables,
): Pick<RunStore, 'due' | 'orphans' | 'owned'> {
  const run = createEngineSql(database);
  const runs = sql.table(tables.runs.meta.tableName);
  const workers = sql.table(tables.workers.meta.tableName);

  return {
    async due(limit) {
      const now = await nowSql(database);
      const { rows } = await run(sql<PlaceRow>`
        select tenant_id, id from (
          select tenant_id, id, wake_at, row_number() over (partition by tenant_id order by wake_at, id) as turn
          from ${runs} where wake_at <= ${now}) as due
        order by turn, wake_at, id limit ${sql.lit(limit)}`);
      return rows.map(place);
    },

    async orphans(limit) {
      const now = await nowSql(database);
      const { rows } = await run(sql<PlaceRow & { readonly owner: string }>`
        select tenant_id, id, owner from ${runs} as run
        where owner is not null and not exists (
          select 1 from ${workers} as worker where worker.id = run.owner and worker.expires_at > ${now})
        order by owner, id limit ${sql.lit(limit)}`);
      return rows.map((row) => ({ ...place(row), owner: row.owner }));
    },

    async owned(worker) {
      const { rows } = await run(sql<PlaceRow & { readonly revision: unknown }>`
        select tenant_id, id, revision from ${runs} where owner = ${worker}`);
      return rows.map((row) => ({ ...place(row), revision: Number(row.revision) }));
    },
  };
}
