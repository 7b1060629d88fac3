import type { JsonObject } from '../../contract/graph.ts';
import type { StepError } from '../../contract/runs.ts';
import type { CompiledNode } from '../graph/compiled-graph.ts';
import type { Draft } from './draft.ts';
import { tellOfStep } from './event-writer.ts';
import type { Fence } from './occurrence.ts';
import type { StepState } from './run-state.ts';

/** The step of a node that has just been decided: the beginning of its first attempt, written nowhere yet. */
export function newStep({ facts }: Draft, { id, name, type }: CompiledNode): StepState {
  return {
    id: facts.newId(),
    nodeId: id,
    nodeName: name,
    nodeType: type,
    status: 'pending',
    attempt: 1,
    delivery: 0,
    lost: 0,
    readyAt: null,
    assignee: null,
    input: null,
    output: null,
    outcome: null,
    error: null,
    taken: null,
    completion: null,
    dueAt: null,
    createdAt: facts.now,
    startedAt: null,
    completedAt: null,
  };
}

/** The beginning of a step's next attempt. What the last one left is gone: templates are filled in anew. */
export function nextAttempt(step: StepState, readyAt: number | null = null): StepState {
  return {
    ...step,
    status: 'pending',
    attempt: step.attempt + 1,
    delivery: 0,
    lost: 0,
    readyAt,
    assignee: null,
    input: null,
    error: null,
    dueAt: null,
    startedAt: null,
    completedAt: null,
  };
}

/** The running step of a delivery; undefined when that delivery is over. */
export function runningStep({ steps }: Draft, fence: Fence): StepState | undefined {
  const step = stepById(steps, fence.stepId);
  const isCurrent = step?.attempt === fence.attempt && step.delivery === fence.delivery;
  return isCurrent && step.status === 'running' ? step : undefined;
}

/** The step of an id. */
export function stepById(steps: Draft['steps'], id: string): StepState | undefined {
  for (const step of steps.values()) if (step.id === id) return step;
  return undefined;
}

/** The part of a step's events by which its history is told apart. */
export function deliveryOf({ attempt, delivery }: StepState): { attempt: number; delivery: number } {
  return { attempt, delivery };
}

/** An error as events and runs show it. */
export function errorData(error: StepError): JsonObject {
  return {
    code: error.code,
    message: error.message,
    ...(error.node === undefined ? {} : { node: error.node }),
  };
}

/** One `warning` for each reference of a template that led nowhere. */
export function warnOfMissing(draft: Draft, step: StepState, missing: readonly string[]): void {
  for (const reference of missing) tellOfStep(draft, 'warning', step, { reference, node: step.nodeId });
}
