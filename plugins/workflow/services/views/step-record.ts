import type { Clock } from 'agent-gateway';
import type { StepRecord } from '../../contract/runs.ts';
import type { RunState, StepState } from '../core/run-state.ts';
import { nullableTimestamp, timestamp } from '../core/timestamp.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { mapBreathing } from './breathing.ts';
import { maskConfig, type Redactor, redactJson } from './redaction.ts';

/** A step on the wire, redacted. */
export function toStepRecord(runId: string, step: StepState, redactor: Redactor): StepRecord {
  return {
    id: step.id,
    run_id: runId,
    node_id: step.nodeId,
    node_name: redactor.redact(step.nodeName),
    node_type: step.nodeType,
    status: step.status,
    attempt: step.attempt,
    assignee: step.assignee === null ? null : redactor.redact(step.assignee),
    input: step.input === null ? null : redactJson(redactor, maskConfig(step.input)),
    output: step.output === null ? null : redactJson(redactor, step.output),
    outcome: step.outcome === null ? null : redactor.redact(step.outcome),
    error: step.error === null ? null : { ...step.error, message: redactor.redact(step.error.message) },
    due_at: nullableTimestamp(step.dueAt),
    created_at: timestamp(step.createdAt),
    started_at: nullableTimestamp(step.startedAt),
    completed_at: nullableTimestamp(step.completedAt),
  };
}

/** All steps of a run, in the order in which the graph leads to them. Large inputs take long to look through: others get their turn meanwhile. */
export async function toStepRecords(
  run: RunState,
  graph: CompiledGraph,
  redactor: Redactor,
  clock: Pick<Clock, 'monotonic'>,
): Promise<StepRecord[]> {
  const steps = [...graph.nodes.keys()].flatMap((nodeId) => run.steps.get(nodeId) ?? []);
  return mapBreathing(steps, (step) => toStepRecord(run.id, step, redactor), clock);
}
