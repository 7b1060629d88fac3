import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type TenantEntityManager } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { RunStatus } from '../contract/runs.ts';
import type { RunState, StepState } from '../services/core/run-state.ts';
import { entityName, fromText, fromTextOrNull, isSearchable, LENGTHS, toText, toTextOrNull } from './rows.ts';
import type { RunHead } from './run-queries.ts';
import { type StepRow, stepState } from './step-rows.ts';
import type { WorkflowTables } from './tables.ts';

/**
 * Runs of an engine. What changes at each step of a chain (`revision`, `seq`, `updated_at`) is in no index: PostgreSQL then writes the new row
 * beside the old one and leaves all indexes as they are. `owner` and `wake_at` are null where nothing has to be done, so that finished
 * runs are never looked through.
 */
export function runTable(name: string) {
  return defineEntity({
    name: entityName(name, 'run'),
    tableName: `${name}_runs`,
    indexes: [
      { name: `${name}_runs_started`, properties: ['tenantId', 'startedAt'] },
      { name: `${name}_runs_definition`, properties: ['tenantId', 'definitionId', 'startedAt'] },
      { name: `${name}_runs_status`, properties: ['tenantId', 'status', 'startedAt'] },
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
      startedAt: column.bigint(),
      completedAt: column.bigint().nullable(),
      updatedAt: column.bigint(),
    },
  });
}

export type RunRow = InferEntity<ReturnType<typeof runTable>>;

/** A row without its tenant, as it is inserted. */
type NewRunRow = Omit<RunRow, 'tenantId'>;

/** Members that may change and are columns as they are. */
const PLAIN = [
  'status',
  'revision',
  'seq',
  'owner',
  'wakeAt',
  'completedAt',
  'updatedAt',
] as const satisfies readonly (keyof RunHead & keyof RunRow)[];

/** The row of a new run. */
export function runRow(run: RunHead): NewRunRow {
  return {
    id: run.id,
    definitionId: run.definitionId,
    versionId: run.versionId,
    version: run.version,
    status: run.status,
    revision: run.revision,
    seq: run.seq,
    input: toText(run.input),
    variables: toText(run.variables),
    error: toTextOrNull(run.error),
    owner: run.owner,
    wakeAt: run.wakeAt,
    startedBy: run.startedBy,
    startedAt: run.startedAt,
    completedAt: run.completedAt,
    updatedAt: run.updatedAt,
  };
}

/** The columns in which a run differs from what it was; objects are compared by identity. What a run starts with never changes. */
export function runChanges(before: RunHead, after: RunHead): Partial<NewRunRow> {
  const changes: Record<string, unknown> = {};
  for (const name of PLAIN) {
    if (before[name] !== after[name]) changes[name] = after[name];
  }
  if (before.variables !== after.variables) changes.variables = toText(after.variables);
  if (before.error !== after.error) changes.error = toTextOrNull(after.error);
  return changes;
}

/** The run that a row holds, without its steps. */
export function runHead(row: RunRow): RunHead {
  return {
    id: row.id,
    tenantId: row.tenantId,
    definitionId: row.definitionId,
    versionId: row.versionId,
    version: row.version,
    status: row.status,
    revision: row.revision,
    seq: row.seq,
    input: fromText(row.input),
    variables: fromText(row.variables),
    error: fromTextOrNull(row.error),
    owner: row.owner ?? null,
    wakeAt: row.wakeAt ?? null,
    startedBy: row.startedBy,
    startedAt: row.startedAt,
    completedAt: row.completedAt ?? null,
    updatedAt: row.updatedAt,
  };
}

/** A run with its steps. */
function runState(head: RunHead, steps: readonly StepState[]): RunState {
  return { ...head, steps: new Map(steps.map((step) => [step.nodeId, step])) };
}

/** More than a run has: `max_steps` is 10,000 at most, and skipped steps come on top. */
const ALL_STEPS = 1_000_000;
/** Readings of a run that others change in the middle of each. */
const READINGS = 50;

/**
 * A run with its steps as they were at one moment, in two reads. Throws `workflow.busy` when others change it so often that none of 50 readings
 * meets a quiet moment.
 */
export async function readRun(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  runId: string,
): Promise<RunState | undefined> {
  if (!isSearchable(runId)) return undefined;
  for (let reading = 0; reading < READINGS; reading += 1) {
    // The run first: were its steps older than its revision, a commit on them would be taken for a good one.
    const [row] = await entities.rows(tables.runs, { id: runId }, { limit: 1 });
    if (row === undefined) return undefined;
    const steps = await readSteps(entities, tables, runId);
    if (steps.some(({ revision }) => revision > row.revision)) continue;
    return runState(runHead(row), steps.map(stepState));
  }
  throw WorkflowErrors.busy();
}

/** The rows of a run's steps, in the order of their creation, then of their ids. */
export async function readSteps(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  runId: string,
): Promise<StepRow[]> {
  const rows = await entities.rows(tables.steps, { runId }, { limit: ALL_STEPS });
  // Sorted here: the database would sort wide rows.
  return rows.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}
