import type { JsonObject } from '../../contract/graph.ts';
import type { RunEventType } from '../../contract/runs.ts';
import type { Draft } from './draft.ts';
import type { StepState } from './run-state.ts';

type RunEvent = Extract<RunEventType, `run.${string}`>;
type StepEvent = Exclude<RunEventType, RunEvent>;

const NOTHING: JsonObject = {};

/** Writes an event about the run. */
export function tellOfRun(draft: Draft, type: RunEvent, data = NOTHING): void {
  draft.seq += 1;
  const { seq, facts } = draft;
  draft.events.push({ seq, type, nodeId: null, stepId: null, data, createdAt: facts.now });
}

/** Writes an event about a step. */
export function tellOfStep(draft: Draft, type: StepEvent, step: StepState, data = NOTHING): void {
  draft.seq += 1;
  const { seq, facts } = draft;
  draft.events.push({ seq, type, nodeId: step.nodeId, stepId: step.id, data, createdAt: facts.now });
}
