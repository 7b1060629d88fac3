import type { JsonObject } from '../../contract/graph.ts';
import type { Draft } from './draft.ts';

/**
 * Lengths of what was measured before. Values of a run never change, and a run in memory keeps the same objects from state to state: each is
 * written out once here, however many steps follow. A cache only: without it the result is the same.
 */
const measured = new WeakMap<JsonObject, number>();

/** Characters of a value as JSON. What is nested too deeply to be written out has no length that any limit allows. */
export function jsonLength(value: JsonObject): number {
  let length = measured.get(value);
  if (length === undefined) {
    length = measure(value);
    measured.set(value, length);
  }
  return length;
}

/** Characters of JSON of the variables of a run at most: lists of runs show them. */
export const MAX_VARIABLES = 512 * 1024;
/** Characters of JSON of what a human task shows to people at most: lists of tasks show it. */
export const MAX_TASK_INPUT = 64 * 1024;

/** What a completion adds to the data of a run. */
export interface Addition {
  readonly output: JsonObject;
  /** In place of those that were. */
  readonly variables?: JsonObject | undefined;
}

/** Characters of JSON of a run's input, variables and outputs together, after an addition. */
export function contextSize(draft: Draft, { output, variables = draft.variables }: Addition): number {
  let size = jsonLength(draft.before.input) + jsonLength(variables) + jsonLength(output);
  for (const step of draft.steps.values()) {
    if (step.output !== null) size += jsonLength(step.output);
  }
  return size;
}

/** Characters of JSON of the filled-in inputs of all steps together, one more included: a large value may be inserted into many. */
export function inputSize(draft: Draft, added: JsonObject): number {
  let size = jsonLength(added);
  for (const step of draft.steps.values()) {
    if (step.input !== null) size += jsonLength(step.input);
  }
  return size;
}

function measure(value: JsonObject): number {
  try {
    return JSON.stringify(value).length;
  } catch (error) {
    if (error instanceof RangeError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
