import { isUniqueViolation } from 'agent-gateway';
import { sql } from 'kysely';
import type { RunPlace } from '../contract/engine.ts';
import type { Commit, Creation, RunStore } from '../services/ports/run-store.ts';
import type { RunEventWrites } from './durable-run-events.ts';
import { createEngineSql, nowSql } from './engine-sql.ts';
import { findRow } from './rows.ts';
import { readRun } from './run-rows.ts';
import { commitWrites, creationWrites, findStart } from './run-writes.ts';
import type { EngineStorage } from './tables.ts';
import { createWorkerLeases } from './worker-leases.ts';

/** Attempts to store a run while the conflicting run disappears each time. */
const ATTEMPTS = 5;

/** Undoes a transaction whose run has another revision. */
const UNDO = Symbol('undo');

interface PlaceRow {
  readonly tenant_id: string;
  readonly id: string;
}

const place = ({ tenant_id, id }: PlaceRow): RunPlace => ({ tenantId: tenant_id, runId: id });

/** Runs in tables of the database. */
export function createRunStore({
  database,
  tables,
  runEvents = () => [],
}: EngineStorage & {
  /** More writes of each commit; default: none. */
  readonly runEvents?: RunEventWrites | undefined;
}): RunStore {
  const run = createEngineSql(database);
  const runs = sql.table(tables.runs.meta.tableName);
  const workers = sql.table(tables.workers.meta.tableName);

  /**
   * Which of the two caused a unique violation, the id or the key; undefined when the conflicting row is gone by now.
   */
  async function conflictOf({ state, idempotency }: Creation) {
    const entities = database.forTenant(state.tenantId);
    const same = await findRow(entities, tables.runs, { id: state.id }, ['id']);
    if (same !== undefined) return 'exists';
    return idempotency && findStart(entities, tables, idempotency.key);
  }

  const writesOf = (commit: Commit) => [
    ...commitWrites(tables, commit),
    ...runEvents(commit.after, commit.events),
  ];

  /** For commits with writes of other code, which need an open transaction while they run. */
  async function commitWith(commit: Commit, also: NonNullable<Commit['also']>): Promise<boolean> {
    try {
      await database.forTenant(commit.before.tenantId).transaction(async (entities) => {
        if (!(await entities.writeTogether(writesOf(commit)))) throw UNDO;
        await also(entities);
      });
      return true;
    } catch (reason) {
      if (reason === UNDO) return false;
      throw reason;
    }
  }

  /**
   * Creations with an idempotency key share no commit: two with the same key wait for each other, and must not delay
   * others.
   */
  function store(creation: Creation): Promise<boolean> {
    const { tenantId, id } = creation.state;
    const options = creation.idempotency === undefined ? { shareAs: id } : {};
    const { state, events } = creation;
    const writes = [...creationWrites(tables, creation), ...runEvents(state, events)];
    return database.forTenant(tenantId).writeTogether(writes, options);
  }

  return {
    ...createWorkerLeases(database, tables),

    async create(creation) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await store(creation);
          return 'created';
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          const conflict = await conflictOf(creation);
          if (conflict !== undefined) return conflict;
          if (attempt === ATTEMPTS) throw error;
        }
      }
    },

    read: ({ tenantId, runId }) => readRun(database.forTenant(tenantId), tables, runId),

    commit(commit) {
      if (commit.also !== undefined) return commitWith(commit, commit.also);
      const { tenantId, id } = commit.before;
      return database.forTenant(tenantId).writeTogether(writesOf(commit), { shareAs: id });
    },

    // Over all tenants. Read without locks: a commit is guarded by the run's revision anyway.

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
