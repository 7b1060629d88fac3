import type { JsonObject } from '../../contract/graph.ts';
import type { RunStatus, StepError } from '../../contract/runs.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import type { Facts, NewEvent } from './occurrence.ts';
import type { RunState, StepState } from './run-state.ts';
import { count, isTerminal, type Tally, tallyOf } from './run-status.ts';
import { wakeAt } from './wake-at.ts';

/**
 * The next state of a run while a transition works on it. It is the one thing here that changes; no rule keeps it, and the state that it
 * began with stays as it is.
 */
export interface Draft {
  readonly graph: CompiledGraph;
  readonly facts: Facts;
  readonly before: RunState;
  status: RunStatus;
  seq: number;
  variables: JsonObject;
  error: StepError | null;
  owner: string | null;
  /** Read only: `putStep` writes. */
  steps: ReadonlyMap<string, StepState>;
  /** Kept with each write, so that no rule has to count. */
  readonly tally: Tally;
  /** Nodes that were completed or skipped, and whose successors nobody has looked at yet. */
  readonly resolved: string[];
  readonly events: NewEvent[];
}

/** Begins a transition. Copies nothing. */
export function openDraft(graph: CompiledGraph, before: RunState, facts: Facts): Draft {
  const { status, seq, variables, error, owner, steps } = before;
  const tally = tallyOf(steps.values());
  const resolved: string[] = [];
  const events: NewEvent[] = [];
  return { graph, facts, before, status, seq, variables, error, owner, steps, tally, resolved, events };
}

/** Writes a step, new or changed. The steps are copied with the first write. */
export function putStep(draft: Draft, step: StepState): void {
  if (draft.steps === draft.before.steps) draft.steps = new Map(draft.steps);
  const old = draft.steps.get(step.nodeId);
  if (old !== undefined) count(draft.tally, old, -1);
  count(draft.tally, step, 1);
  (draft.steps as Map<string, StepState>).set(step.nodeId, step);
}

/** The next state: one revision further, or the very object that the draft began with when nothing changed. */
export function closeDraft(draft: Draft): RunState {
  const { before, facts, status, seq, variables, error, owner, steps } = draft;
  if (steps === before.steps && status === before.status) return before;
  return {
    ...before,
    status,
    seq,
    variables,
    error,
    owner,
    steps,
    revision: before.revision + 1,
    wakeAt: wakeAt(draft, before.wakeAt, facts.now),
    completedAt: isTerminal(status) ? (before.completedAt ?? facts.now) : null,
    updatedAt: facts.now,
  };
}
