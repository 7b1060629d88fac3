import type { Database, PlainWhere } from 'agent-gateway';
import type { RunPlace, RunQuery } from '../contract/engine.ts';
import type { RunStatus } from '../contract/runs.ts';
import type { NewEvent } from '../services/core/occurrence.ts';
import type { RunState, StepState } from '../services/core/run-state.ts';
import { storedEvent } from './event-rows.ts';
import { isSearchable, toText } from './rows.ts';
import { type RunRow, readSteps, runHead } from './run-rows.ts';
import { keyDigest } from './run-writes.ts';
import { stepState } from './step-rows.ts';
import type { WorkflowTables } from './tables.ts';

/** A run without its steps. Raw: what leaves the engine is redacted where it is shown. */
export type RunHead = Omit<RunState, 'steps'>;

/** An event as it was stored; its data were redacted before. */
export type StoredEvent = NewEvent;

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

/** How far a run is, for those who follow it. */
export interface RunPosition {
  readonly status: RunStatus;
  /** Number of the last event. */
  readonly seq: number;
}

/**
 * What is shown of runs. Each method sees one tenant; what belongs to another one is not there. They change nothing and throw nothing but
 * what the database throws.
 */
export interface RunQueries {
  /** A run without its steps. Use `RunStore.read` for both together. */
  head(place: RunPlace): Promise<RunHead | undefined>;
  /** Runs that match, newest start first (of one moment the higher id), and how many match in all. */
  list(
    tenantId: string,
    query: RunQuery,
  ): Promise<{ readonly runs: readonly RunHead[]; readonly total: number }>;
  /** Steps of a run in the order of their creation, then of their ids; empty where there is no such run. */
  steps(place: RunPlace): Promise<readonly StepState[]>;
  /** One step of the run. */
  step(place: RunPlace & { readonly stepId: string }): Promise<StepState | undefined>;
  openTasks(tenantId: string, query: OpenTaskQuery): Promise<readonly OpenTask[]>;
  /** Events after a number (default 0), oldest first, and how many the run has in all. No such run: none. */
  events(
    place: RunPlace & { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly total: number }>;
  /** Events of one step, oldest first, `limit` at most. */
  eventsOfStep(
    place: RunPlace & { readonly stepId: string; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  /** What an idempotency key has started. */
  startOf(
    tenantId: string,
    key: string,
  ): Promise<{ readonly runId: string; readonly fingerprint: string } | undefined>;
  /** Status and last event number of a run, as cheaply as can be. */
  position(place: RunPlace): Promise<RunPosition | undefined>;
}

/** What is shown of runs, out of tables of the database. */
export function createRunQueries({
  database,
  tables,
}: {
  readonly database: Database;
  readonly tables: WorkflowTables;
}): RunQueries {
  async function position(tenantId: string, runId: string) {
    const query = { limit: 1, fields: ['status', 'seq'] } as const;
    const [row] = await database.forTenant(tenantId).rows(tables.runs, { id: runId }, query);
    return row && { status: row.status, seq: row.seq };
  }

  return {
    async head({ tenantId, runId }) {
      if (!isSearchable(runId)) return undefined;
      const [row] = await database.forTenant(tenantId).rows(tables.runs, { id: runId }, { limit: 1 });
      return row && runHead(row);
    },

    async list(tenantId, query) {
      if (query.definitionId !== undefined && !isSearchable(query.definitionId))
        return { runs: [], total: 0 };
      const entities = database.forTenant(tenantId);
      const where = matching(query);
      const { limit, offset } = query;
      const orderBy = { startedAt: 'desc', id: 'desc' } as const;
      const runs = await entities.rows(tables.runs, where, { orderBy, limit, offset });
      return { runs: runs.map(runHead), total: await entities.count(tables.runs, where as never) };
    },

    async steps({ tenantId, runId }) {
      if (!isSearchable(runId)) return [];
      return (await readSteps(database.forTenant(tenantId), tables, runId)).map(stepState);
    },

    async step({ tenantId, runId, stepId }) {
      if (!isSearchable(runId) || !isSearchable(stepId)) return undefined;
      const where = { id: stepId, runId };
      const [row] = await database.forTenant(tenantId).rows(tables.steps, where, { limit: 1 });
      return row && stepState(row);
    },

    async openTasks(tenantId, { assignees, limit, offset }) {
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

    async events({ tenantId, runId, after = 0, limit }) {
      if (!isSearchable(runId)) return { events: [], total: 0 };
      const where = { runId, seq: { $gt: after } };
      const query = { orderBy: { seq: 'asc' }, limit } as const;
      const events = await database.forTenant(tenantId).rows(tables.events, where, query);
      // Numbers have no gaps, so the last one is how many there are.
      const total = (await position(tenantId, runId))?.seq ?? 0;
      return { events: events.map(storedEvent), total };
    },

    async eventsOfStep({ tenantId, runId, stepId, limit }) {
      if (!isSearchable(runId) || !isSearchable(stepId)) return [];
      const query = { orderBy: { seq: 'asc' }, limit } as const;
      const rows = await database.forTenant(tenantId).rows(tables.events, { runId, stepId }, query);
      return rows.map(storedEvent);
    },

    async startOf(tenantId, key) {
      const where = { keyDigest: keyDigest(key) };
      const [start] = await database.forTenant(tenantId).rows(tables.starts, where, { limit: 1 });
      return start && { runId: start.runId, fingerprint: start.fingerprint };
    },

    position: async ({ tenantId, runId }) => (isSearchable(runId) ? position(tenantId, runId) : undefined),
  };
}

function matching({ definitionId, status, from, to }: RunQuery): PlainWhere<RunRow> {
  const startedAt = {
    ...(from === undefined ? {} : { $gte: from.getTime() }),
    ...(to === undefined ? {} : { $lt: to.getTime() }),
  };
  return {
    ...(definitionId === undefined ? {} : { definitionId }),
    ...(status === undefined ? {} : { status }),
    ...(Object.keys(startedAt).length === 0 ? {} : { startedAt }),
  };
}
