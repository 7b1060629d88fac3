import type { Command, Verdict } from './commands.ts';
import { inputSize, runData } from './data.ts';
import { deliveryOf, emitStepEvent, inputTooLarge, warnOfMissing, workerLost } from './events.ts';
import { failStep } from './finish.ts';
import { inOrder, putStep, runningStep, type StepState, type Transition } from './state.ts';

/**
 * A worker takes steps that are ready, in topological order, `room` at most, and owns the run from then on. Nothing while the run is paused
 * or over, or while another worker owns it.
 */
export function claim(
  transition: Transition,
  { worker, room }: Extract<Command, { readonly type: 'claim' }>,
): Verdict {
  const isOpen = transition.status === 'running' || transition.status === 'waiting';
  if (!isOpen || transition.tally.pending === 0) return 'unchanged';
  if (transition.owner !== null && transition.owner !== worker) return 'unchanged';
  const ready: StepState[] = [];
  for (const step of transition.steps.values()) {
    const isReady =
      step.status === 'pending' && (step.readyAt === null || step.readyAt <= transition.facts.now);
    if (isReady) ready.push(step);
  }
  const claimed = inOrder(transition.graph, ready).slice(0, Math.max(0, room));
  if (claimed.length === 0) return 'unchanged';
  transition.owner = worker;
  for (const step of claimed) {
    deliver(transition, step);
    // A step whose templates cannot be filled in fails here, and pauses the run.
    if (transition.tally.failed > 0) break;
  }
  return 'applied';
}

/** Hands a step to the worker. The first delivery of an attempt fills in the templates, for all that follow. */
function deliver(transition: Transition, step: StepState): void {
  const { graph, facts } = transition;
  const filled = step.delivery === 0 ? graph.nodes.get(step.nodeId)!.fill(runData(transition)) : undefined;
  const { maxContext } = facts.limits;
  const size = filled === undefined ? 0 : inputSize(transition, filled.input);
  const failure = filled?.failure ?? (size > maxContext ? inputTooLarge(step, size, maxContext) : undefined);
  if (failure !== undefined) {
    failStep(transition, step, failure);
    return;
  }
  const running: StepState = {
    ...step,
    status: 'running',
    delivery: step.delivery + 1,
    readyAt: null,
    input: filled?.input ?? step.input,
    startedAt: step.startedAt ?? facts.now,
  };
  putStep(transition, running);
  emitStepEvent(transition, 'step.started', running, deliveryOf(running));
  if (filled !== undefined) warnOfMissing(transition, running, filled.missing);
}

/**
 * A worker gives a step back. Its next delivery repeats the attempt, with the input that it has; that it was given back counts against
 * nothing. The only event of it is the next `step.started`, whose `delivery` is greater by one.
 */
export function released(
  transition: Transition,
  { fence }: Extract<Command, { readonly type: 'released' }>,
): Verdict {
  const step = runningStep(transition, fence);
  if (step === undefined) return 'unchanged';
  putStep(transition, { ...step, status: 'pending' });
  return 'applied';
}

/**
 * The owner of the run is gone: its running steps wait for their next delivery, and those that were lost as often as they may fail, for good:
 * what takes replicas down must not go on by itself (decisions 2.6).
 */
export function workerIsLost(
  transition: Transition,
  { worker }: Extract<Command, { readonly type: 'worker_lost' }>,
): Verdict {
  if (transition.owner !== worker) return 'unchanged';
  const running = [...transition.steps.values()].filter(({ status }) => status === 'running');
  for (const step of inOrder(transition.graph, running)) {
    const interrupted = { ...step, lost: step.lost + 1 };
    if (interrupted.lost < transition.facts.limits.maxDeliveries) {
      putStep(transition, { ...interrupted, status: 'pending' });
    } else {
      failStep(transition, interrupted, workerLost(interrupted));
    }
  }
  return 'applied';
}
