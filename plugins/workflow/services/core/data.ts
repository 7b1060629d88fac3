import type { JsonObject } from '../../contract/graph.ts';
import type { CompiledGraph, RunData } from '../graph/compiled-graph.ts';
import type { RunState, Transition } from './state.ts';

/** An output that is not written yet. */
interface Upcoming {
  readonly nodeId: string;
  readonly output: JsonObject;
  /** Where the completion changes them. */
  readonly variables?: JsonObject | undefined;
}

/**
 * The data of a run for conditions and templates, as they stand now. With `upcoming` as they will stand: the conditions of a node see what its
 * own completion brings.
 */
export function runData(transition: Transition, upcoming?: Upcoming): RunData {
  return {
    input: transition.before.input,
    variables: upcoming?.variables ?? transition.variables,
    output(nodeId) {
      if (upcoming?.nodeId === nodeId) return upcoming.output;
      // Only completed steps have one.
      return transition.steps.get(nodeId)?.output ?? undefined;
    },
  };
}

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
interface Addition {
  readonly output: JsonObject;
  /** In place of those that were. */
  readonly variables?: JsonObject | undefined;
}

/** Characters of JSON of a run's input, variables and outputs together, after an addition. */
export function contextSize(
  transition: Transition,
  { output, variables = transition.variables }: Addition,
): number {
  let size = jsonLength(transition.before.input) + jsonLength(variables) + jsonLength(output);
  for (const step of transition.steps.values()) {
    if (step.output !== null) size += jsonLength(step.output);
  }
  return size;
}

/** Characters of JSON of the filled-in inputs of all steps together, one more included: a large value may be inserted into many. */
export function inputSize(transition: Transition, added: JsonObject): number {
  let size = jsonLength(added);
  for (const step of transition.steps.values()) {
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

/**
 * What a run came to: the outputs of the nodes from which an edge into an end was taken, merged in topological order (decisions 3.3); null
 * while it is not completed.
 */
export function resultOf(graph: CompiledGraph, { status, steps }: RunState): JsonObject | null {
  if (status !== 'completed') return null;
  const isEnd = (index: number) => graph.nodes.get(graph.edges[index]!.to)!.behavior === 'end';
  const outputs = [...graph.nodes.keys()].map((id) => {
    const step = steps.get(id);
    return step?.taken?.some(isEnd) ? step.output : null;
  });
  // Not `Object.assign`: an output may have a member of the name `__proto__`.
  return Object.fromEntries(outputs.flatMap((output) => Object.entries(output ?? {})));
}
