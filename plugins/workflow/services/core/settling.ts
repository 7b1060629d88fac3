import type { RunStatus } from '../../contract/runs.ts';
import type { Draft } from './draft.ts';
import { tellOfRun } from './event-writer.ts';
import { isTerminal, statusOf } from './run-status.ts';
import { errorData } from './step.ts';

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
export function settle(draft: Draft): void {
  if (draft.tally.running === 0) draft.owner = null;
  if (isTerminal(draft.status)) return;
  const status = statusOf(draft.tally);
  if (status === draft.status) return;
  draft.status = status;
  tellOfRun(draft, TOLD_AS[status], status === 'paused' ? { error: errorData(draft.error!) } : undefined);
}
