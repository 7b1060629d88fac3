import { type Draft, putStep } from './draft.ts';
import { failStep } from './finishing.ts';
import type { Occurrence, Verdict } from './occurrence.ts';
import { workerLost } from './problems.ts';
import { runningStep } from './step.ts';
import { inOrder } from './topology.ts';

/**
 * A worker gives a step back. Its next delivery repeats the attempt, with the input that it has; that it was given back counts against
 * nothing. No event tells of it but that next `step.started`, whose `delivery` is greater by one.
 */
export function released(
  draft: Draft,
  { fence }: Extract<Occurrence, { readonly type: 'released' }>,
): Verdict {
  const step = runningStep(draft, fence);
  if (step === undefined) return 'unchanged';
  putStep(draft, { ...step, status: 'pending' });
  return 'applied';
}

/**
 * The owner of the run is gone: its running steps wait for their next delivery, and those that were lost as often as they may fail, for good:
 * what takes replicas down must not go on by itself (decisions 2.6).
 */
export function workerIsLost(
  draft: Draft,
  { worker }: Extract<Occurrence, { readonly type: 'worker_lost' }>,
): Verdict {
  if (draft.owner !== worker) return 'unchanged';
  const running = [...draft.steps.values()].filter(({ status }) => status === 'running');
  for (const step of inOrder(draft.graph, running)) {
    const interrupted = { ...step, lost: step.lost + 1 };
    if (interrupted.lost < draft.facts.limits.maxDeliveries) {
      putStep(draft, { ...interrupted, status: 'pending' });
    } else {
      failStep(draft, interrupted, workerLost(interrupted));
    }
  }
  return 'applied';
}
