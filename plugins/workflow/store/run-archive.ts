import { eachRow, isStorableText, type TenantEntityManager } from 'agent-gateway';
import { storedName } from '../../records/contract.ts';
import type { NewEvent } from '../services/core/commands.ts';
import type { RunState } from '../services/core/state.ts';
import { storedEvent } from './event-rows.ts';
import { readRun } from './run-rows.ts';
import type { EngineStorage, WorkflowTables } from './tables.ts';

/** Whose runs. */
interface ArchiveScope {
  /** Only runs that this identity started, or that were started for this user; absent: all of the tenant. */
  readonly userId?: string | undefined;
}

/** Conditions that together find the runs in a scope, each once. */
export function runsIn({ userId }: ArchiveScope) {
  if (userId === undefined) return [{}];
  const others = { userId: storedName(userId) };
  return isStorableText(userId)
    ? [{ startedBy: userId }, { ...others, startedBy: { $ne: userId } }]
    : [others];
}

/** Runs that are found, or deleted, at one time. */
const BATCH = 200;
/** Events that are read at one time. */
const EVENTS = 1_000;

/**
 * Deletes runs with their steps, events, idempotency keys and undelivered events, in the caller's transaction; returns
 * how many of each. Runs are deleted first: a commit in progress ends before that, so that the rows that it added are
 * deleted too; a later commit finds no run.
 */
export async function deleteRuns(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  ids: readonly string[],
) {
  const ofRuns = { runId: { $in: [...ids] } };
  const runs = await entities.delete(tables.runs, { id: { $in: [...ids] } });
  const steps = await entities.erase(tables.steps, ofRuns);
  const events = await entities.erase(tables.events, ofRuns);
  await entities.erase(tables.starts, ofRuns);
  await entities.erase(tables.outbox, ofRuns);
  return { runs, steps, events };
}

/** Runs in tables of the database, for data protection: taking them out and deleting them. */
export function createRunArchive({ database, tables }: EngineStorage) {
  /** Ids of runs, oldest first, in pages. */
  async function* idsOf(entities: TenantEntityManager, scope: ArchiveScope): AsyncGenerator<string[]> {
    const query = { by: ['startedAt', 'id'], fields: ['startedAt', 'id'], page: BATCH } as const;
    let ids: string[] = [];
    for (const whose of runsIn(scope)) {
      for await (const { id } of eachRow(entities, tables.runs, whose, query)) {
        ids.push(id);
        if (ids.length < BATCH) continue;
        yield ids;
        ids = [];
      }
    }
    if (ids.length > 0) yield ids;
  }

  async function eventsOf(entities: TenantEntityManager, runId: string): Promise<NewEvent[]> {
    const events: NewEvent[] = [];
    const query = { by: ['seq'], page: EVENTS } as const;
    for await (const row of eachRow(entities, tables.events, { runId }, query)) events.push(storedEvent(row));
    return events;
  }

  return {
    /** All runs, oldest first, with their events, oldest first. Read in pages: one run at a time is in memory. Raw. */
    async *all(
      tenantId: string,
      scope: ArchiveScope,
    ): AsyncGenerator<{ readonly run: RunState; readonly events: readonly NewEvent[] }> {
      const entities = database.forTenant(tenantId);
      for await (const ids of idsOf(entities, scope)) {
        for (const id of ids) {
          const run = await readRun(entities, tables, id);
          if (run !== undefined) yield { run, events: await eventsOf(entities, id) };
        }
      }
    },

    /**
     * Deletes runs with their steps, events, idempotency keys and undelivered events, and without `userId` the versions
     * too, inside the caller's transaction, in batches; returns how many of each. A run in progress is deleted like any
     * other: the process that carries it out finds no run at its next commit.
     */
    async erase(entities: TenantEntityManager, scope: ArchiveScope) {
      const erased = { runs: 0, steps: 0, events: 0, versions: 0 };
      for await (const ids of idsOf(entities, scope)) {
        const { runs, steps, events } = await deleteRuns(entities, tables, ids);
        erased.runs += runs;
        erased.steps += steps;
        erased.events += events;
      }
      if (scope.userId === undefined) erased.versions = await entities.erase(tables.versions, {});
      return erased;
    },
  };
}
