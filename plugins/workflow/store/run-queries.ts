import type { Database, PlainWhere } from 'agent-gateway';
import type { RunQuery } from '../contract/engine.ts';
import type { RunQueries } from '../services/ports/run-queries.ts';
import { storedEvent } from './event-rows.ts';
import { toText } from './json-text.ts';
import { readSteps } from './read-run.ts';
import { runHead } from './run-rows.ts';
import { keyDigest } from './run-writes.ts';
import { isSearchable } from './searchable.ts';
import { stepState } from './step-rows.ts';
import type { RunRow } from './tables/run-table.ts';
import type { WorkflowTables } from './workflow-tables.ts';

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
