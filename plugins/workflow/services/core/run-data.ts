import type { JsonObject } from '../../contract/graph.ts';
import type { RunData } from '../graph/compiled-graph.ts';
import type { Draft } from './draft.ts';

/** An output that is not written yet. */
export interface Upcoming {
  readonly nodeId: string;
  readonly output: JsonObject;
  /** Where the completion changes them. */
  readonly variables?: JsonObject | undefined;
}

/**
 * The data of a run for conditions and templates, as they stand now. With `upcoming` as they will stand: the conditions of a node see what its
 * own completion brings.
 */
export function runData(draft: Draft, upcoming?: Upcoming): RunData {
  return {
    input: draft.before.input,
    variables: upcoming?.variables ?? draft.variables,
    output(nodeId) {
      if (upcoming?.nodeId === nodeId) return upcoming.output;
      // Only completed steps have one.
      return draft.steps.get(nodeId)?.output ?? undefined;
    },
  };
}
