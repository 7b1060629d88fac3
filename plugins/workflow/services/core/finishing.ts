import type { JsonObject } from '../../contract/graph.ts';
import type { StepError } from '../../contract/runs.ts';
import type { CompiledNode } from '../graph/compiled-graph.ts';
import { contextSize } from './context-size.ts';
import { type Draft, putStep } from './draft.ts';
import { tellOfStep } from './event-writer.ts';
import type { Occurrence, Verdict } from './occurrence.ts';
import { contextTooLarge, noMatchingEdge } from './problems.ts';
import { retryDelay } from './retry-delay.ts';
import { chooseEdges } from './routing.ts';
import { runData } from './run-data.ts';
import type { StepState } from './run-state.ts';
import { deliveryOf, errorData, nextAttempt, runningStep } from './step.ts';
import { timestamp } from './timestamp.ts';

type Of<T extends Occurrence['type']> = Extract<Occurrence, { readonly type: T }>;

/** A worker brings the output of a delivery. */
export function succeeded(draft: Draft, { fence, output, record }: Of<'succeeded'>): Verdict {
  const step = runningStep(draft, fence);
  if (step === undefined) return 'unchanged';
  const size = contextSize(draft, { output });
  if (size > draft.facts.limits.maxContext) {
    failStep(draft, step, contextTooLarge(step, size, draft.facts.limits.maxContext), { record });
  } else {
    finishStep(draft, step, output, record);
  }
  return 'applied';
}

/** A worker says that a delivery failed. */
export function failed(draft: Draft, { fence, error, isRetryable, record }: Of<'failed'>): Verdict {
  const step = runningStep(draft, fence);
  if (step === undefined) return 'unchanged';
  failStep(draft, step, error, { isRetryable, record });
  return 'applied';
}

/** Completes a step that no person completes, or fails it as `no_matching_edge` (decisions 2.1.2). */
export function finishStep(draft: Draft, step: StepState, output: JsonObject, record?: JsonObject): void {
  const node = draft.graph.nodes.get(step.nodeId)!;
  const taken = chooseEdges(draft.graph, node, null, runData(draft, { nodeId: node.id, output }));
  if (taken.length > 0 || node.behavior === 'end') completeStep(draft, { ...step, output, taken }, record);
  else failStep(draft, step, noMatchingEdge(draft.graph, node), { record });
}

/** Writes a step as completed. `step` has its output and the edges that it takes; what they lead to is decided later. */
export function completeStep(draft: Draft, step: StepState, record?: JsonObject): void {
  const { now } = draft.facts;
  const completed: StepState = {
    ...step,
    status: 'completed',
    startedAt: step.startedAt ?? now,
    completedAt: now,
  };
  putStep(draft, completed);
  draft.resolved.push(step.nodeId);
  tellOfStep(draft, 'step.completed', completed, {
    ...deliveryOf(step),
    ...(record === undefined ? {} : { record }),
  });
}

/** How a step failed. */
export interface FailureDetails {
  /** Another attempt may end otherwise, so that the node's `retry` applies. Default: false. */
  readonly isRetryable?: boolean;
  readonly record?: JsonObject | undefined;
}

/** Ends an attempt that failed: the step waits for its next one where the node's `retry` has one left, else it is failed (decisions 2.6). */
export function failStep(
  draft: Draft,
  step: StepState,
  { code, message }: StepError,
  { isRetryable = false, record }: FailureDetails = {},
): void {
  const { now } = draft.facts;
  const error: StepError = { code, message, node: step.nodeId };
  const delay = isRetryable ? delayOf(draft.graph.nodes.get(step.nodeId)!, step.attempt) : undefined;
  const data = { ...deliveryOf(step), error: errorData(error), ...(record === undefined ? {} : { record }) };
  if (delay !== undefined) {
    putStep(draft, nextAttempt(step, now + delay));
    tellOfStep(draft, 'step.failed', step, { ...data, retry_at: timestamp(now + delay) });
    return;
  }
  putStep(draft, { ...step, status: 'failed', error, completedAt: now });
  tellOfStep(draft, 'step.failed', step, data);
  draft.error ??= error;
}

function delayOf({ retry }: CompiledNode, attempt: number): number | undefined {
  return retry !== undefined && attempt < retry.maxAttempts ? retryDelay(retry, attempt) : undefined;
}
