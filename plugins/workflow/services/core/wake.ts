import type { RunStatus } from '../../contract/runs.ts';
import { emitRunEvent, errorData } from './events.ts';
import { isTerminal, type RunState, type StepState, statusOf, type Tally, type Transition } from './state.ts';

/** The event of each new status. `cancel` emits that of `cancelled`. */
const STATUS_EVENTS = {
  running: 'run.resumed',
  waiting: 'run.waiting',
  paused: 'run.paused',
  completed: 'run.completed',
} as const satisfies Partial<Record<RunStatus, string>>;

/**
 * Brings the run itself up to its steps, after each command: a run without running steps has no owner, and a new status is emitted after the
 * events that led to it. After a final status no event follows.
 */
export function settle(transition: Transition): void {
  if (transition.tally.running === 0) transition.owner = null;
  if (isTerminal(transition.status)) return;
  const status = statusOf(transition.tally);
  if (status === transition.status) return;
  transition.status = status;
  emitRunEvent(
    transition,
    STATUS_EVENTS[status],
    status === 'paused' ? { error: errorData(transition.error!) } : undefined,
  );
}

/** The next state: one revision further, or the very object that the transition began with when nothing changed. */
export function closeTransition(transition: Transition): RunState {
  const { before, facts, status, seq, variables, error, owner, steps } = transition;
  if (steps === before.steps && status === before.status) return before;
  return {
    ...before,
    status,
    seq,
    variables,
    error,
    owner,
    steps,
    revision: before.revision + 1,
    wakeAt: wakeAt(transition, before.wakeAt, facts.now),
    completedAt: isTerminal(status) ? (before.completedAt ?? facts.now) : null,
    updatedAt: facts.now,
  };
}

/** What `wakeAt` depends on. */
interface Watched {
  readonly status: RunStatus;
  readonly owner: string | null;
  readonly steps: ReadonlyMap<string, StepState>;
  readonly tally: Readonly<Tally>;
}

/**
 * When a worker has to look at a run without being asked to, in milliseconds: when the first task times out, and when pending steps can be
 * claimed (at once is `now`). Pending steps do not count while the run is paused, and not while it has an owner, which claims them itself.
 * Null when nothing will happen by itself.
 *
 * @param before what it was so far; kept while it is over and there is still something to do, so that the run that waits longest is seen first
 */
export function wakeAt(run: Watched, before: number | null, now: number): number | null {
  const { status, owner, steps, tally } = run;
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
