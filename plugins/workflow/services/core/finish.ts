import type { JsonObject } from '../../contract/graph.ts';
import type { StepError } from '../../contract/runs.ts';
import type { CompiledGraph, CompiledNode, RunData } from '../graph/compiled-graph.ts';
import type { Command, Verdict } from './commands.ts';
import { contextSize, runData } from './data.ts';
import {
  contextTooLarge,
  deliveryOf,
  emitStepEvent,
  errorData,
  noMatchingEdge,
  timestamp,
} from './events.ts';
import { nextAttempt, putStep, runningStep, type StepState, type Transition } from './state.ts';

type Of<T extends Command['type']> = Extract<Command, { readonly type: T }>;

/** A worker brings the output of a delivery. */
export function succeeded(transition: Transition, { fence, output, record }: Of<'succeeded'>): Verdict {
  const step = runningStep(transition, fence);
  if (step === undefined) return 'unchanged';
  const size = contextSize(transition, { output });
  if (size > transition.facts.limits.maxContext) {
    failStep(transition, step, contextTooLarge(step, size, transition.facts.limits.maxContext), { record });
  } else {
    finishStep(transition, step, output, record);
  }
  return 'applied';
}

/** A worker says that a delivery failed. */
export function failed(transition: Transition, { fence, error, isRetryable, record }: Of<'failed'>): Verdict {
  const step = runningStep(transition, fence);
  if (step === undefined) return 'unchanged';
  failStep(transition, step, error, { isRetryable, record });
  return 'applied';
}

/** Completes a step that no person completes, or fails it as `no_matching_edge` (decisions 2.1.2). */
export function finishStep(
  transition: Transition,
  step: StepState,
  output: JsonObject,
  record?: JsonObject,
): void {
  const node = transition.graph.nodes.get(step.nodeId)!;
  const taken = chooseEdges(transition.graph, node, null, runData(transition, { nodeId: node.id, output }));
  if (taken.length > 0 || node.behavior === 'end')
    completeStep(transition, { ...step, output, taken }, record);
  else failStep(transition, step, noMatchingEdge(transition.graph, node), { record });
}

/** Writes a step as completed. `step` has its output and the edges that it takes; what they lead to is decided later. */
export function completeStep(transition: Transition, step: StepState, record?: JsonObject): void {
  const { now } = transition.facts;
  const completed: StepState = {
    ...step,
    status: 'completed',
    startedAt: step.startedAt ?? now,
    completedAt: now,
  };
  putStep(transition, completed);
  transition.resolved.push(step.nodeId);
  emitStepEvent(transition, 'step.completed', completed, {
    ...deliveryOf(step),
    ...(record === undefined ? {} : { record }),
  });
}

/** How a step failed. */
interface FailureDetails {
  /** Another attempt may end otherwise, so that the node's `retry` applies. Default: false. */
  readonly isRetryable?: boolean;
  readonly record?: JsonObject | undefined;
}

/** Ends an attempt that failed: the step waits for its next one where the node's `retry` has one left, else it is failed (decisions 2.6). */
export function failStep(
  transition: Transition,
  step: StepState,
  { code, message }: StepError,
  { isRetryable = false, record }: FailureDetails = {},
): void {
  const { now } = transition.facts;
  const error: StepError = { code, message, node: step.nodeId };
  const delay = isRetryable ? delayOf(transition.graph.nodes.get(step.nodeId)!, step.attempt) : undefined;
  const data = { ...deliveryOf(step), error: errorData(error), ...(record === undefined ? {} : { record }) };
  if (delay !== undefined) {
    putStep(transition, nextAttempt(step, now + delay));
    emitStepEvent(transition, 'step.failed', step, { ...data, retry_at: timestamp(now + delay) });
    return;
  }
  putStep(transition, { ...step, status: 'failed', error, completedAt: now });
  emitStepEvent(transition, 'step.failed', step, data);
  transition.error ??= error;
}

/** Milliseconds until the attempt after this one (1 for the first); undefined when it was the last (decisions 2.6). */
function delayOf({ retry }: CompiledNode, attempt: number): number | undefined {
  if (retry === undefined || attempt >= retry.maxAttempts) return undefined;
  const delay = retry.backoff === 'fixed' ? retry.delayMs : retry.delayMs * 2 ** (attempt - 1);
  return Math.min(delay, retry.maxDelayMs);
}

/**
 * The outgoing edges that a completed node takes, by index, ascending (specification 2, Routing rules; decisions 2.1.1): all conditional edges
 * that match; when none does, all edges without condition. Empty where the node leads nowhere. It is asked once, when the node
 * completes: what it says is stored with the step.
 */
export function chooseEdges(
  graph: CompiledGraph,
  node: CompiledNode,
  outcome: string | null,
  data: RunData,
): readonly number[] {
  const matching: number[] = [];
  const defaults: number[] = [];
  for (const index of node.outgoing) {
    const { condition } = graph.edges[index]!;
    if (condition === undefined) defaults.push(index);
    else if (condition.kind === 'outcome' ? condition.outcome === outcome : condition.matches(data)) {
      matching.push(index);
    }
  }
  return matching.length > 0 ? matching : defaults;
}

/** Whether an edge of the node is named after an outcome. */
export function leadsOnWith(graph: CompiledGraph, node: CompiledNode, outcome: string): boolean {
  return node.outgoing.some((index) => {
    const { condition } = graph.edges[index]!;
    return condition?.kind === 'outcome' && condition.outcome === outcome;
  });
}
