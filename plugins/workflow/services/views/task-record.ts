import type { Json } from '../../contract/graph.ts';
import type { TaskRecord } from '../../contract/runs.ts';
import type { OpenTask } from '../../store/run-queries.ts';
import { nullableTimestamp, timestamp } from '../core/timestamp.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';
import type { Redactor } from './redaction.ts';

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

/** Instructions that are one template have the type of what it led to; whoever reads them needs text. */
function instructionsText(written: Json | undefined, redactor: Redactor): string | null {
  if (written === undefined || written === null) return null;
  return typeof written === 'string'
    ? redactor.redact(written)
    : redactor.redactJsonText(JSON.stringify(written));
}
