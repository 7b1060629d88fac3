import type { RunStatus } from '../../contract/runs.ts';
import type { StepState } from './run-state.ts';

/** How many steps of a run are in the states that its own depends on, and how many were activated. */
export interface Tally {
  pending: number;
  running: number;
  waiting: number;
  failed: number;
  /** What `WORKFLOW_MAX_STEPS` counts (decisions 2.6): all but the skipped ones, and those that failed because the limit was reached. */
  activated: number;
}

/** Code of a step that was not activated because the run had activated as many as it may. */
export const MAX_STEPS_EXCEEDED = 'max_steps_exceeded';

/** Counts steps. */
export function tallyOf(steps: Iterable<StepState>): Tally {
  const tally: Tally = { pending: 0, running: 0, waiting: 0, failed: 0, activated: 0 };
  for (const step of steps) count(tally, step, 1);
  return tally;
}

/** Adds a step to a tally, or takes it out. */
export function count(tally: Tally, { status, error }: StepState, by: 1 | -1): void {
  if (status === 'pending' || status === 'running' || status === 'waiting' || status === 'failed') {
    tally[status] += by;
  }
  if (status !== 'skipped' && error?.code !== MAX_STEPS_EXCEEDED) tally.activated += by;
}

/** The status of a run that is not cancelled: a function of its steps (decisions 2.3). */
export function statusOf(tally: Readonly<Tally>): Exclude<RunStatus, 'cancelled'> {
  if (tally.failed > 0) return 'paused';
  if (tally.pending > 0 || tally.running > 0) return 'running';
  return tally.waiting > 0 ? 'waiting' : 'completed';
}

/** Whether a status is final. */
export function isTerminal(status: RunStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}
