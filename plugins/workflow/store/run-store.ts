import { type Database, isUniqueViolation } from 'agent-gateway';
import type { Commit, Creation, RunStore } from '../services/ports/run-store.ts';
import { createDueAndOrphanedRuns } from './due-and-orphaned-runs.ts';
import { isSearchable } from './rows.ts';
import { readRun } from './run-rows.ts';
import { commitWrites, creationWrites, keyDigest } from './run-writes.ts';
import type { WorkflowTables } from './tables.ts';
import { createWorkerLeases } from './worker-leases.ts';
import { createWriteGroups } from './write-groups.ts';

/** Attempts to store a run while the one that stood in its way vanishes each time. */
const ATTEMPTS = 5;

/** Undoes a transaction whose run has another revision. */
const UNDO = Symbol('undo');

/** Runs in tables of the database. */
export function createRunStore({
  database,
  tables,
}: {
  readonly database: Database;
  readonly tables: WorkflowTables;
}): RunStore {
  /** Which of the two it was that made a unique violation; undefined when it is gone by now. */
  async function conflictOf({ state, idempotency }: Creation) {
    const entities = database.forTenant(state.tenantId);
    const [same] = await entities.rows(tables.runs, { id: state.id }, { limit: 1, fields: ['id'] });
    if (same !== undefined) return 'exists';
    if (idempotency === undefined) return undefined;
    const where = { keyDigest: keyDigest(idempotency.key) };
    const [start] = await entities.rows(tables.starts, where, { limit: 1 });
    return start && { runId: start.runId, fingerprint: start.fingerprint };
  }

  /** With writes of others: they need a transaction that is open while they run. */
  async function commitWith(commit: Commit, also: NonNullable<Commit['also']>): Promise<boolean> {
    try {
      await database.forTenant(commit.before.tenantId).transaction(async (entities) => {
        if (!(await entities.writeTogether(commitWrites(tables, commit)))) throw UNDO;
        await also(entities);
      });
      return true;
    } catch (reason) {
      if (reason === UNDO) return false;
      throw reason;
    }
  }

  const groups = createWriteGroups(database);

  /** Two that come with one idempotency key wait for each other: those delay no others. */
  function store(tenantId: string, creation: Creation): Promise<boolean> {
    const writes = creationWrites(tables, creation);
    if (creation.idempotency !== undefined) return database.forTenant(tenantId).writeTogether(writes);
    return groups.write({ tenantId, runId: creation.state.id, writes });
  }

  return {
    ...createDueAndOrphanedRuns(database, tables),
    ...createWorkerLeases(database, tables),

    now: () => database.now(),

    async create(creation) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await store(creation.state.tenantId, creation);
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

    async runOfStep(tenantId, stepId) {
      if (!isSearchable(stepId)) return undefined;
      const query = { limit: 1, fields: ['runId'] } as const;
      const [row] = await database.forTenant(tenantId).rows(tables.steps, { id: stepId }, query);
      return row?.runId;
    },

    commit(commit) {
      if (commit.also !== undefined) return commitWith(commit, commit.also);
      const { tenantId, id } = commit.before;
      return groups.write({ tenantId, runId: id, writes: commitWrites(tables, commit) });
    },
  };
}
