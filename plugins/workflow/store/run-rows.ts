import type { TenantEntityManager } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { RunState } from '../services/core/state.ts';
import { changedColumns, findRow, fromColumns, toColumns } from './rows.ts';
import { stepState } from './step-rows.ts';
import type { RunRow, WorkflowTables } from './tables.ts';

/** A run without its steps. Raw: what leaves the engine is redacted where it is shown. */
export type RunHead = Omit<RunState, 'steps'>;

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
