import type { RunStatus } from '../../contract/runs.ts';
import { emitRunEvent } from './events.ts';
import { errorData, isTerminal, type StepState, statusOf, type Tally, type Transition } from './state.ts';

/** What of a run decides when somebody has to look at it. */
interface Watched {
  readonly status: RunStatus;
  readonly owner: string | null;
  readonly steps: ReadonlyMap<string, StepState>;
  readonly tally: Readonly<Tally>;
}

/**
 * When somebody has to look at a run although nobody tells him, in milliseconds: when the first task times out, and when pending steps can be
 * claimed (at once is `now`). Pending steps do not count while the run is paused, and not while it has an owner: he claims them himself.
 * Null when nothing will happen by itself.
 *
 * @param before what it was so far; kept while it is over and there is still something to do, so that who waits longest is seen first
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

/** The events that tell of a new status. That of `cancelled` is told by who cancels. */
const TOLD_AS = {
  running: 'run.resumed',
  waiting: 'run.waiting',
  paused: 'run.paused',
  completed: 'run.completed',
} as const satisfies Partial<Record<RunStatus, string>>;

/**
 * Brings the run itself up to its steps, after each occurrence: nobody owns a run without running steps, and a status that has changed is
 * told, after all that led to it. Nothing is told after a final status, ever.
 */
export function settle(transition: Transition): void {
  if (transition.tally.running === 0) transition.owner = null;
  if (isTerminal(transition.status)) return;
  const status = statusOf(transition.tally);
  if (status === transition.status) return;
  transition.status = status;
  emitRunEvent(
    transition,
    TOLD_AS[status],
    status === 'paused' ? { error: errorData(transition.error!) } : undefined,
  );
}
