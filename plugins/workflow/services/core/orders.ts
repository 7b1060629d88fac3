import { activate } from './activating.ts';
import { type Draft, putStep } from './draft.ts';
import { tellOfRun, tellOfStep } from './event-writer.ts';
import type { Verdict } from './occurrence.ts';
import type { StepState } from './run-state.ts';
import { deliveryOf, nextAttempt } from './step.ts';
import { inOrder } from './topology.ts';

/* What people order for a run as a whole. */

/** Begins the next attempt of every failed step of a paused run (decisions 2.6). */
export function retry(draft: Draft, by: string): Verdict {
  if (draft.status !== 'paused') return 'not-paused';
  draft.error = null;
  draft.status = 'running';
  tellOfRun(draft, 'run.resumed', { by });
  for (const step of stepsThat(draft, ({ status }) => status === 'failed')) {
    activate(draft, nextAttempt(step));
  }
  return 'applied';
}

/** Ends a run and all of its steps that have not ended; failed ones stay failed. Results that come later change nothing. */
export function cancel(draft: Draft, by: string): Verdict {
  if (draft.status === 'completed') return 'already-completed';
  if (draft.status === 'cancelled') return 'unchanged';
  for (const step of stepsThat(draft, isUnfinished)) {
    putStep(draft, { ...step, status: 'cancelled', readyAt: null, completedAt: draft.facts.now });
    tellOfStep(draft, 'step.cancelled', step, deliveryOf(step));
  }
  draft.status = 'cancelled';
  tellOfRun(draft, 'run.cancelled', { by });
  return 'applied';
}

function isUnfinished({ status }: StepState): boolean {
  return status === 'pending' || status === 'running' || status === 'waiting';
}

function stepsThat(draft: Draft, isMeant: (step: StepState) => boolean): readonly StepState[] {
  return inOrder(draft.graph, [...draft.steps.values()].filter(isMeant));
}
