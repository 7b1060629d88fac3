import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type TenantEntityManager } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { RunStatus } from '../contract/runs.ts';
import type { RunState } from '../services/core/state.ts';
import { changedColumns, entityName, findRow, fromColumns, LENGTHS, toColumns } from './rows.ts';
import type { RunHead } from './run-queries.ts';
import { stepState } from './step-rows.ts';
import type { WorkflowTables } from './tables.ts';

/**
 * Runs of an engine. What changes at each step of a chain (`revision`, `seq`, `updated_at`) is in no index: PostgreSQL
 * then writes the new row next to the old one and leaves all indexes as they are. `owner` and `wake_at` are null where
 * nothing has to be done, so that finished runs are never scanned.
 */
export function runTable(name: string) {
  return defineEntity({
    name: entityName(name, 'run'),
    tableName: `${name}_runs`,
    indexes: [
      { name: `${name}_runs_started`, properties: ['tenantId', 'startedAt', 'id'] },
      { name: `${name}_runs_definition`, properties: ['tenantId', 'definitionId', 'startedAt', 'id'] },
      { name: `${name}_runs_status`, properties: ['tenantId', 'status', 'startedAt', 'id'] },
      {
        name: `${name}_runs_definition_status`,
        properties: ['tenantId', 'definitionId', 'status', 'startedAt', 'id'],
      },
      { name: `${name}_runs_wake`, properties: ['wakeAt'] },
      { name: `${name}_runs_owner`, properties: ['owner'] },
    ],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      definitionId: column.string(LENGTHS.definitionId),
      versionId: column.id(),
      version: column.integer(),
      status: column.string(LENGTHS.status).$type<RunStatus>(),
      revision: column.integer(),
      seq: column.integer(),
      /** JSON texts: any character survives in them on every database. */
      input: column.text(),
      variables: column.text(),
      error: column.text().nullable(),
      owner: column.string(LENGTHS.worker).nullable(),
      /** Times are milliseconds since the epoch on the database's clock, as the rules compute with them. */
      wakeAt: column.bigint().nullable(),
      startedBy: column.string(LENGTHS.identity),
      userId: column.string(LENGTHS.identity).nullable(),
      startedAt: column.bigint(),
      begunAt: column.bigint().nullable(),
      completedAt: column.bigint().nullable(),
      updatedAt: column.bigint(),
    },
  });
}

export type RunRow = InferEntity<ReturnType<typeof runTable>>;

/** A row without its tenant, as it is inserted. */
type NewRunRow = Omit<RunRow, 'tenantId'>;

/** Members whose columns are JSON texts. */
const JSON_MEMBERS = ['input', 'variables', 'error'] as const;

/**
 * The row of a new run, its id first, independent of the order of the state's members: rows with the same columns in
 * the same order share a statement.
 */
export function runRow({ tenantId: _tenant, steps: _steps, id, ...head }: RunState): NewRunRow {
  return toColumns({ id, ...head }, JSON_MEMBERS);
}

/** The columns in which a run differs from what it was; objects are compared by identity. */
export function runChanges(
  { steps: _before, ...before }: RunState,
  { steps: _after, ...after }: RunState,
): Partial<NewRunRow> {
  return changedColumns(before, after, JSON_MEMBERS);
}

/** The run that a row holds, without its steps. */
export function runHead(row: RunRow): RunHead {
  return fromColumns<RunHead>(row, JSON_MEMBERS);
}

/** More than a run has: `max_steps` is 10,000 at most, and skipped steps come on top. */
const ALL_STEPS = 1_000_000;
/** Tries to read a run that other processes change during each read. */
const READINGS = 50;

/**
 * A run with its steps as they were at one moment, in two reads. Throws `workflow.busy` when other processes change it
 * during each of 50 tries.
 */
export async function readRun(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  runId: string,
): Promise<RunState | undefined> {
  for (let reading = 0; reading < READINGS; reading += 1) {
    // The run first: if its steps were older than its revision, a commit based on them would be accepted.
    const row = await findRow(entities, tables.runs, { id: runId });
    if (row === undefined) return undefined;
    const steps = await entities.rows(tables.steps, { runId }, { limit: ALL_STEPS });
    if (steps.some(({ revision }) => revision > row.revision)) continue;
    // In the order of their creation, then of their ids. Sorted here: the database would sort wide rows.
    steps.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    return { ...runHead(row), steps: new Map(steps.map((step) => [step.nodeId, stepState(step)])) };
  }
  throw WorkflowErrors.busy();
}
