import { mapWithPauses } from 'agent-gateway';
import type { Json } from '../../contract/graph.ts';
import type { RunEventRecord, RunRecord, StepRecord, TaskRecord } from '../../contract/runs.ts';
import type { OpenTask } from '../../store/run-queries.ts';
import type { RunHead } from '../../store/run-rows.ts';
import type { NewEvent } from '../core/commands.ts';
import { nullableTimestamp, type RunState, type StepState, timestamp } from '../core/state.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import { maskConfig, type Redactor, redactJson } from './redaction.ts';

/** A run on the wire, redacted, without the members that only the engine uses. */
export function toRunRecord(run: RunHead, redactor: Redactor): RunRecord {
  return {
    id: run.id,
    definition_id: run.definitionId,
    version_id: run.versionId,
    version: run.version,
    status: run.status,
    input: redactJson(redactor, run.input),
    variables: redactJson(redactor, run.variables),
    error: run.error === null ? null : { ...run.error, message: redactor.redact(run.error.message) },
    started_by: run.startedBy,
    started_at: timestamp(run.startedAt),
    completed_at: nullableTimestamp(run.completedAt),
    updated_at: timestamp(run.updatedAt),
  };
}

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

/**
 * All steps of a run, in the order in which the graph leads to them. Redacting large inputs takes long, so other work
 * runs in between.
 */
export async function toStepRecords(
  run: RunState,
  graph: CompiledGraph,
  redactor: Redactor,
): Promise<StepRecord[]> {
  const steps = [...graph.nodes.keys()].flatMap((nodeId) => run.steps.get(nodeId) ?? []);
  return mapWithPauses(steps, (step) => toStepRecord(run.id, step, redactor));
}

/** A waiting task on the wire, redacted. */
export function toTaskRecord(task: OpenTask, graph: CompiledGraph, redactor: Redactor): TaskRecord {
  const { step } = task;
  return {
    step_run_id: step.id,
    run_id: task.runId,
    node_id: step.nodeId,
    node_name: redactor.redact(step.nodeName),
    status: 'waiting',
    created_at: timestamp(step.createdAt),
    definition_id: task.definitionId,
    assignee: step.assignee === null ? null : redactor.redact(step.assignee),
    instructions: instructionsText(step.input?.instructions, redactor),
    outcomes: graph.outcomesOf(step.nodeId),
    due_at: nullableTimestamp(step.dueAt),
  };
}

/** Instructions that are a single template have the type of the value that it led to; people need text. */
function instructionsText(written: Json | undefined, redactor: Redactor): string | null {
  if (written === undefined || written === null) return null;
  return typeof written === 'string'
    ? redactor.redact(written)
    : redactor.redactJsonText(JSON.stringify(written));
}

/** An event on the wire. Its data were redacted before they were stored. */
export function toEventRecord(event: NewEvent): RunEventRecord {
  return {
    seq: event.seq,
    type: event.type,
    ...(event.nodeId !== null && { node_id: event.nodeId }),
    ...(event.stepId !== null && { step_run_id: event.stepId }),
    data: event.data,
    created_at: timestamp(event.createdAt),
  };
}

/** True for the events after which nothing happens to a run. */
export function isTerminal({ type }: Pick<NewEvent, 'type'>): boolean {
  return type === 'run.completed' || type === 'run.cancelled';
}
