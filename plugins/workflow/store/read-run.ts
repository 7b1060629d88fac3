import type { TenantEntityManager } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { RunState } from '../services/core/state.ts';
import { runHead, runState } from './run-rows.ts';
import { isSearchable } from './searchable.ts';
import { stepState } from './step-rows.ts';
import type { StepRow } from './tables/step-table.ts';
import type { WorkflowTables } from './workflow-tables.ts';

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
