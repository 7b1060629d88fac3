import type { RunStatus, StepStatus } from '../../contract/runs.ts';
import { isTerminal, type RunState, type StepState } from './state.ts';

/** How many steps of a run are in each status, and how many were activated. */
export interface Tally extends Record<StepStatus, number> {
  /**
   * What `WORKFLOW_MAX_STEPS` counts (decisions 2.6): all but the skipped ones, and those that failed because the limit
   * was reached.
   */
  activated: number;
}

/** Code of a step that was not activated because the run had activated as many as it may. */
export const MAX_STEPS_EXCEEDED = 'max_steps_exceeded';

/** Counts steps. */
export function tallyOf(steps: Iterable<StepState>): Tally {
  const unfinished = { pending: 0, running: 0, waiting: 0 };
  const tally: Tally = { ...unfinished, completed: 0, failed: 0, skipped: 0, cancelled: 0, activated: 0 };
  for (const step of steps) count(tally, step, 1);
  return tally;
}

/** Adds a step to a tally, or takes it out. */
export function count(tally: Tally, { status, error }: StepState, by: 1 | -1): void {
  tally[status] += by;
  if (status !== 'skipped' && error?.code !== MAX_STEPS_EXCEEDED) tally.activated += by;
}

/** The status of a run that is not cancelled: a function of its steps (decisions 2.3). */
export function statusOf(tally: Readonly<Tally>): Exclude<RunStatus, 'cancelled'> {
  if (tally.failed > 0) return 'paused';
  if (tally.pending > 0 || tally.running > 0) return 'running';
  return tally.waiting > 0 ? 'waiting' : 'completed';
}

/**
 * When a worker has to poll a run without a message, in milliseconds: when the first task times out, and when pending
 * steps can be claimed (at once is `now`). Pending steps do not count while the run is paused, and not while it has an
 * owner, which claims them itself. Null when no timer is set and no step can be claimed. A previous value that is in
 * the past is kept while there is still something to do, so that the run that waits longest is polled first.
 */
export function wakeAt(
  { status, owner, steps, wakeAt: before }: RunState,
  tally: Readonly<Tally>,
  now: number,
): number | null {
  if (isTerminal(status)) return null;
  const isClaimable = status !== 'paused' && owner === null && tally.pending > 0;
  if (!isClaimable && tally.waiting === 0) return null;
  let first = Number.POSITIVE_INFINITY;
  for (const step of steps.values()) {
    if (step.status === 'waiting' && step.dueAt !== null) first = Math.min(first, step.dueAt);
    if (isClaimable && step.status === 'pending') first = Math.min(first, step.readyAt ?? now);
  }
  if (first === Number.POSITIVE_INFINITY) return null;
  return before !== null && before <= now && first <= now ? Math.min(before, first) : first;
}
