import {
  type Database,
  eachRow,
  type RetainedRecords,
  rowsByTenant,
  type TenantEntityManager,
} from 'agent-gateway';
import { deleteRuns } from './run-archive.ts';
import type { WorkflowTables } from './tables.ts';

/** Runs that are deleted in one transaction, and events that one statement deletes. */
const RUNS = 50;
const EVENTS = 1_000;
/** How often a transaction that lost a race is retried. */
const RETRIES = 5;

/** Statuses of runs that have ended, with the event that ended them. Such runs never change. */
const ENDED = [
  { status: 'completed', last: 'run.completed' },
  { status: 'cancelled', last: 'run.cancelled' },
] as const;

/** Runs that have ended: the records of an engine that grow without end. Running, waiting and paused runs are kept at any age. */
function endedRuns(database: Pick<Database, 'forTenant' | 'system'>, tables: WorkflowTables) {
  const { runs } = tables;

  /** Pages of ended runs that are older, oldest start first: runs that took longer than others come late, but never too early. */
  async function* endedBefore(entities: TenantEntityManager, before: Date, signal: AbortSignal) {
    const end = before.getTime();
    const query = { by: ['startedAt', 'id'], fields: ['id', 'startedAt', 'completedAt'] } as const;
    for (const { status, last } of ENDED) {
      let ids: string[] = [];
      for await (const run of eachRow(entities, runs, { status }, query)) {
        signal.throwIfAborted();
        if (run.startedAt >= end) break;
        if (run.completedAt != null && run.completedAt < end) ids.push(run.id);
        if (ids.length < RUNS) continue;
        yield { ids, last };
        ids = [];
      }
      if (ids.length > 0) yield { ids, last };
    }
  }

  /** How many ended runs are older. */
  async function countEnded(tenantId: string, before: Date): Promise<number> {
    const entities = database.forTenant(tenantId);
    const end = before.getTime();
    const counts = ENDED.map(({ status }) =>
      entities.count(runs, { status, startedAt: { $lt: end }, completedAt: { $lt: end } }),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count);
  }

  return {
    endedBefore,

    retained: (kind: RetainedKind): RetainedRecords => ({
      ...kind,
      sizes: () => rowsByTenant(database, runs),
      count: (tenantId, before) =>
        before === undefined ? database.forTenant(tenantId).count(runs) : countEnded(tenantId, before),
      async *deleteBefore(tenantId, before, signal) {
        const entities = database.forTenant(tenantId);
        for await (const { ids } of endedBefore(entities, before, signal)) {
          const deleted = await entities.transaction((inside) => deleteRuns(inside, tables, ids), {
            retries: RETRIES,
          });
          yield deleted.runs;
        }
      },
    }),
  };
}

/** What retained records are called. */
type RetainedKind = Pick<RetainedRecords, 'name' | 'summary' | 'keptFor'>;

/** The runs of an engine that have ended, by their end, with all their rows. */
export function retainedRuns(
  database: Pick<Database, 'forTenant' | 'system'>,
  tables: WorkflowTables,
  kind: RetainedKind,
): RetainedRecords {
  return endedRuns(database, tables).retained(kind);
}

/** The records of the gateway's own engine that grow without end: runs that have ended, and their events. */
export function retainedWorkflows(
  database: Pick<Database, 'forTenant' | 'system'>,
  tables: WorkflowTables,
): readonly RetainedRecords[] {
  const { events } = tables;
  const { endedBefore, retained } = endedRuns(database, tables);
  return [
    retained({
      name: 'workflow_runs',
      summary: 'Workflow runs that have ended, by their end, with their steps and events',
    }),
    {
      name: 'workflow_events',
      summary: 'Events of workflow runs that have ended, by the end of the run, but the last of each',
      sizes: () => rowsByTenant(database, events),
      async count(tenantId, before) {
        const entities = database.forTenant(tenantId);
        if (before === undefined) return entities.count(events, {});
        let found = 0;
        for await (const { ids, last } of endedBefore(entities, before, new AbortController().signal))
          found += await entities.count(events, { runId: { $in: ids }, type: { $ne: last } });
        return found;
      },
      async *deleteBefore(tenantId, before, signal) {
        const entities = database.forTenant(tenantId);
        for await (const { ids, last } of endedBefore(entities, before, signal)) {
          for (let deleted = EVENTS; deleted === EVENTS; ) {
            signal.throwIfAborted();
            // The last event stays: it shows followers of the run that nothing more will come.
            const theirs = { runId: { $in: ids }, type: { $ne: last } };
            deleted = await entities.erase(events, theirs, EVENTS);
            yield deleted;
          }
        }
      },
    },
  ];
}
