import {
  createSweptUntil,
  type Database,
  eachRow,
  RETRY_RACES,
  type RetainedRecords,
  rowsByTenant,
  type TenantEntityManager,
} from 'agent-gateway';
import { deleteRuns } from './run-archive.ts';
import type { WorkflowTables } from './tables.ts';

/** Runs that are deleted in one transaction, events that one statement deletes, and runs whose events one counts. */
const RUNS = 50;
const EVENTS = 1_000;
const COUNTED = 1_000;

/**
 * Milliseconds: a sweep of events goes so far back before the one before it, and one looks at all runs so often. Runs
 * that take longer than that are swept when all are: at the latest so much later than others.
 */
const SWEEP_BACK_MS = 24 * 3_600_000;

/** Statuses of runs that have ended, with the event that ended them. Such runs never change. */
const ENDED = [
  { status: 'completed', last: 'run.completed' },
  { status: 'cancelled', last: 'run.cancelled' },
] as const;

/**
 * Pages of ended runs that are older, oldest start first, from that start on: runs that took longer than others come
 * late, but never too early. Runs whose events a sink does not have yet are left out: they would be gone before their
 * delivery.
 */
async function* endedBefore(
  entities: TenantEntityManager,
  { runs, outbox }: WorkflowTables,
  query: { readonly before: Date; readonly from?: Date | undefined; readonly most?: number },
  signal?: AbortSignal,
) {
  const { before, from, most = RUNS } = query;
  const begun = from === undefined ? {} : { startedAt: { $gte: from.getTime() } };
  const end = before.getTime();
  const delivered = async (ids: readonly string[]) => {
    const waiting = await entities.aggregate(outbox, { where: { runId: { $in: [...ids] } }, by: ['runId'] });
    const kept = new Set(waiting.map(({ runId }) => runId));
    return ids.filter((id) => !kept.has(id));
  };
  const order = { by: ['startedAt', 'id'], fields: ['id', 'startedAt', 'completedAt'] } as const;
  for (const { status, last } of ENDED) {
    let ids: string[] = [];
    for await (const run of eachRow(entities, runs, { status, ...begun }, order)) {
      signal?.throwIfAborted();
      if (run.startedAt >= end) break;
      if (run.completedAt != null && run.completedAt < end) ids.push(run.id);
      if (ids.length < most) continue;
      yield { ids: await delivered(ids), last };
      ids = [];
    }
    if (ids.length > 0) yield { ids: await delivered(ids), last };
  }
}

/**
 * The runs of an engine that have ended, by their end, with all their rows: the records of an engine that grow without
 * end. Running, waiting and paused runs are kept at any age, and so are those whose events a sink does not have yet.
 */
export function retainedRuns(
  database: Pick<Database, 'forTenant' | 'system'>,
  tables: WorkflowTables,
  kind: Pick<RetainedRecords, 'name' | 'summary' | 'keptFor'>,
): RetainedRecords {
  const { runs } = tables;
  return {
    ...kind,
    sizes: () => rowsByTenant(database, runs),
    async count(tenantId, before) {
      const entities = database.forTenant(tenantId);
      if (before === undefined) return entities.count(runs);
      const end = { $lt: before.getTime() };
      const counts = ENDED.map(({ status }) =>
        entities.count(runs, { status, startedAt: end, completedAt: end }),
      );
      return (await Promise.all(counts)).reduce((sum, count) => sum + count);
    },
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      for await (const { ids } of endedBefore(entities, tables, { before }, signal)) {
        const deleted = await entities.transaction((inside) => deleteRuns(inside, tables, ids), RETRY_RACES);
        yield deleted.runs;
      }
    },
  };
}

/** The records of the gateway's own engine that grow without end: runs that have ended, and their events. */
export function retainedWorkflows(
  database: Pick<Database, 'forTenant' | 'system'>,
  tables: WorkflowTables,
): readonly RetainedRecords[] {
  const { events } = tables;
  const sweepOfEvents = createSweptUntil({ overlap: SWEEP_BACK_MS, wholeEvery: SWEEP_BACK_MS });
  return [
    retainedRuns(database, tables, {
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
        for await (const { ids, last } of endedBefore(entities, tables, { before, most: COUNTED }))
          found += await entities.count(events, { runId: { $in: ids }, type: { $ne: last } });
        return found;
      },
      async *deleteBefore(tenantId, before, signal) {
        const entities = database.forTenant(tenantId);
        const { from, ended } = sweepOfEvents(tenantId, before);
        for await (const { ids, last } of endedBefore(entities, tables, { before, from }, signal)) {
          for (let deleted = EVENTS; deleted === EVENTS; ) {
            signal.throwIfAborted();
            // The last event stays: it shows followers of the run that nothing more will come.
            const theirs = { runId: { $in: ids }, type: { $ne: last } };
            deleted = await entities.erase(events, theirs, EVENTS);
            yield deleted;
          }
        }
        ended();
      },
    },
  ];
}
