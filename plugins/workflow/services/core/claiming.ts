import { inputSize } from './context-size.ts';
import { type Draft, putStep } from './draft.ts';
import { tellOfStep } from './event-writer.ts';
import { failStep } from './finishing.ts';
import type { Occurrence, Verdict } from './occurrence.ts';
import { inputTooLarge } from './problems.ts';
import { runData } from './run-data.ts';
import type { StepState } from './run-state.ts';
import { deliveryOf, warnOfMissing } from './step.ts';
import { inOrder } from './topology.ts';

/**
 * A worker takes steps that are ready, in topological order, `room` at most, and owns the run from then on. Nothing while the run is paused
 * or over, or while another worker owns it.
 */
export function claim(
  draft: Draft,
  { worker, room }: Extract<Occurrence, { readonly type: 'claim' }>,
): Verdict {
  const isOpen = draft.status === 'running' || draft.status === 'waiting';
  if (!isOpen || draft.tally.pending === 0) return 'unchanged';
  if (draft.owner !== null && draft.owner !== worker) return 'unchanged';
  const ready: StepState[] = [];
  for (const step of draft.steps.values()) {
    const isReady = step.status === 'pending' && (step.readyAt === null || step.readyAt <= draft.facts.now);
    if (isReady) ready.push(step);
  }
  const claimed = inOrder(draft.graph, ready).slice(0, Math.max(0, room));
  if (claimed.length === 0) return 'unchanged';
  draft.owner = worker;
  for (const step of claimed) {
    deliver(draft, step);
    // A step whose templates cannot be filled in fails here, and pauses the run.
    if (draft.tally.failed > 0) break;
  }
  return 'applied';
}

/** Hands a step to the worker. The first delivery of an attempt fills in the templates, for all that follow. */
function deliver(draft: Draft, step: StepState): void {
  const { graph, facts } = draft;
  const filled = step.delivery === 0 ? graph.nodes.get(step.nodeId)!.fill(runData(draft)) : undefined;
  const { maxContext } = facts.limits;
  const size = filled === undefined ? 0 : inputSize(draft, filled.input);
  const failure = filled?.failure ?? (size > maxContext ? inputTooLarge(step, size, maxContext) : undefined);
  if (failure !== undefined) {
    failStep(draft, step, failure);
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
  putStep(draft, running);
  tellOfStep(draft, 'step.started', running, deliveryOf(running));
  if (filled !== undefined) warnOfMissing(draft, running, filled.missing);
}
