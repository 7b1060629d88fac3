import { isStorableText, type PlainWhere } from 'agent-gateway';
import type { RunPlace, RunQuery } from '../contract/engine.ts';
import type { RunStatus } from '../contract/runs.ts';
import type { NewEvent } from '../services/core/commands.ts';
import type { StepState } from '../services/core/state.ts';
import { storedEvent } from './event-rows.ts';
import { findRow, toText } from './rows.ts';
import { type RunHead, runHead } from './run-rows.ts';
import { findStart } from './run-writes.ts';
import { stepState } from './step-rows.ts';
import type { EngineStorage, RunRow } from './tables.ts';

/** A human task that waits. */
export interface OpenTask {
  readonly runId: string;
  readonly definitionId: string;
  readonly versionId: string;
  readonly step: StepState;
}

/** Which open tasks. Oldest first. */
interface OpenTaskQuery {
  /** Tasks without an assignee (null) and of these assignees (a user id, `role:<name>`); absent: all of the tenant. */
  readonly assignees?: readonly string[] | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** How far a run is, for its followers. */
export interface RunPosition {
  readonly status: RunStatus;
  /** Number of the last event. */
  readonly seq: number;
}

export type RunQueries = ReturnType<typeof createRunQueries>;

/**
 * What is shown of runs, out of tables of the database. Each method sees one tenant; it does not find what belongs to
 * another. The methods change nothing and throw only what the database throws.
 */
export function createRunQueries({ database, tables }: EngineStorage) {
  /** Status and last event number of a run, as cheaply as can be. */
  const position = ({ tenantId, runId }: RunPlace): Promise<RunPosition | undefined> =>
    findRow(database.forTenant(tenantId), tables.runs, { id: runId }, ['status', 'seq']);

  return {
    position,

    /** A run without its steps. Use `RunStore.read` for both together. */
    async head({ tenantId, runId }: RunPlace): Promise<RunHead | undefined> {
      const row = await findRow(database.forTenant(tenantId), tables.runs, { id: runId });
      return row && runHead(row);
    },

    /** When runs began, in milliseconds, by their ids; those that have not are missing. */
    async begun(tenantId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      const known = runIds.filter(isStorableText);
      if (known.length === 0) return new Map();
      const where = { id: { $in: known }, begunAt: { $ne: null } };
      const query = { limit: known.length, fields: ['id', 'begunAt'] } as const;
      const rows = await database.forTenant(tenantId).rows(tables.runs, where, query);
      return new Map(rows.map(({ id, begunAt }) => [id, begunAt!]));
    },

    /** Runs that match, newest start first (of one moment the higher id), and how many match in all. */
    async list(
      tenantId: string,
      query: RunQuery,
    ): Promise<{ readonly runs: readonly RunHead[]; readonly total: number }> {
      if (query.definitionId !== undefined && !isStorableText(query.definitionId))
        return { runs: [], total: 0 };
      const entities = database.forTenant(tenantId);
      const { limit, offset } = query;
      const orderBy = { startedAt: 'desc', id: 'desc' } as const;
      const [runs, total] = await entities.page(tables.runs, matching(query), { orderBy, limit, offset });
      return { runs: runs.map(runHead), total };
    },

    /** One step of the run. */
    async step({
      tenantId,
      runId,
      stepId,
    }: RunPlace & { readonly stepId: string }): Promise<StepState | undefined> {
      const row = await findRow(database.forTenant(tenantId), tables.steps, { id: stepId, runId });
      return row && stepState(row);
    },

    /** A step by its id alone, with the run that it belongs to. */
    async runAndStep(tenantId: string, id: string) {
      const row = await findRow(database.forTenant(tenantId), tables.steps, { id });
      return row && { runId: row.runId, step: stepState(row) };
    },

    async openTasks(
      tenantId: string,
      { assignees, limit, offset }: OpenTaskQuery,
    ): Promise<readonly OpenTask[]> {
      const entities = database.forTenant(tenantId);
      const anybody = { openSince: { $ne: null } };
      const where =
        assignees === undefined
          ? anybody
          : { ...anybody, assignee: { $in: [null, ...assignees].map((assignee) => toText(assignee)) } };
      const orderBy = { openSince: 'asc', id: 'asc' } as const;
      const tasks = await entities.rows(tables.steps, where, { orderBy, limit, offset });
      const ids = [...new Set(tasks.map(({ runId }) => runId))];
      const fields = ['id', 'definitionId', 'versionId'] as const;
      const runs = await entities.rows(tables.runs, { id: { $in: ids } }, { limit: ids.length, fields });
      const byId = new Map(runs.map((run) => [run.id, run]));
      return tasks.flatMap((row) => {
        const run = byId.get(row.runId); // deleted since
        if (run === undefined) return [];
        const { definitionId, versionId } = run;
        return [{ runId: row.runId, definitionId, versionId, step: stepState(row) }];
      });
    },

    /** Events after a number (default 0), oldest first, and how many the run has in all. No such run: none. */
    async events({
      after = 0,
      limit,
      ...place
    }: RunPlace & { readonly after?: number | undefined; readonly limit: number }): Promise<{
      readonly events: readonly NewEvent[];
      readonly total: number;
    }> {
      const { tenantId, runId } = place;
      if (!isStorableText(runId)) return { events: [], total: 0 };
      const where = { runId, seq: { $gt: after } };
      const query = { orderBy: { seq: 'asc' }, limit } as const;
      const events = await database.forTenant(tenantId).rows(tables.events, where, query);
      // Numbers have no gaps, so the last one is how many there are.
      const total = (await position(place))?.seq ?? 0;
      return { events: events.map(storedEvent), total };
    },

    /** Events of one step, oldest first, `limit` at most. */
    async eventsOfStep({
      tenantId,
      runId,
      stepId,
      limit,
    }: RunPlace & { readonly stepId: string; readonly limit: number }): Promise<readonly NewEvent[]> {
      if (!isStorableText(runId) || !isStorableText(stepId)) return [];
      const query = { orderBy: { seq: 'asc' }, limit } as const;
      const rows = await database.forTenant(tenantId).rows(tables.events, { runId, stepId }, query);
      return rows.map(storedEvent);
    },

    /** What an idempotency key has started. */
    startOf: (tenantId: string, key: string) => findStart(database.forTenant(tenantId), tables, key),
  };
}

function matching({ definitionId, status, from, to, hasBegun, hasFailed }: RunQuery): PlainWhere<RunRow> {
  const startedAt = {
    ...(from === undefined ? {} : { $gte: from.getTime() }),
    ...(to === undefined ? {} : { $lt: to.getTime() }),
  };
  return {
    ...(definitionId === undefined ? {} : { definitionId }),
    ...(status === undefined ? {} : { status }),
    ...(hasBegun === undefined ? {} : { begunAt: hasBegun ? { $ne: null } : null }),
    ...(hasFailed === undefined ? {} : { error: hasFailed ? { $ne: null } : null }),
    ...(Object.keys(startedAt).length === 0 ? {} : { startedAt }),
  };
}
