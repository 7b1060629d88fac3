import type { RunState, StepState } from '../services/core/state.ts';
import { fromText, fromTextOrNull, toText, toTextOrNull } from './json-text.ts';
import type { StepRow } from './tables/step-table.ts';

/** A row without its tenant, as it is inserted. */
export type NewStepRow = Omit<StepRow, 'tenantId'>;

/** Members that are columns as they are. */
const PLAIN = [
  'status',
  'attempt',
  'delivery',
  'lost',
  'readyAt',
  'dueAt',
  'createdAt',
  'startedAt',
  'completedAt',
] as const satisfies readonly (keyof StepState & keyof StepRow)[];

/** Members whose columns are JSON texts. */
const JSON_MEMBERS = [
  'input',
  'output',
  'outcome',
  'error',
  'taken',
  'completion',
] as const satisfies readonly (keyof StepState & keyof StepRow)[];

/** The row of a new step. */
export function stepRow(
  { id: runId, revision }: Pick<RunState, 'id' | 'revision'>,
  step: StepState,
): NewStepRow {
  const { id, nodeId, nodeName, nodeType } = step;
  return {
    id,
    runId,
    revision,
    nodeId,
    nodeName: toText(nodeName),
    nodeType: toText(nodeType),
    status: step.status,
    attempt: step.attempt,
    delivery: step.delivery,
    lost: step.lost,
    readyAt: step.readyAt,
    dueAt: step.dueAt,
    createdAt: step.createdAt,
    startedAt: step.startedAt,
    completedAt: step.completedAt,
    openSince: openSince(step),
    assignee: toText(step.assignee),
    input: toTextOrNull(step.input),
    output: toTextOrNull(step.output),
    outcome: toTextOrNull(step.outcome),
    error: toTextOrNull(step.error),
    taken: toTextOrNull(step.taken),
    completion: toTextOrNull(step.completion),
  };
}

/** The columns in which a step differs from what it was; objects are compared by identity. Empty where it does not. */
export function stepChanges(before: StepState, after: StepState): Partial<NewStepRow> {
  const changes: Record<string, unknown> = {};
  for (const name of PLAIN) {
    if (before[name] !== after[name]) changes[name] = after[name];
  }
  for (const name of JSON_MEMBERS) {
    if (before[name] !== after[name]) changes[name] = toTextOrNull(after[name]);
  }
  if (before.assignee !== after.assignee) changes.assignee = toText(after.assignee);
  if (openSince(before) !== openSince(after)) changes.openSince = openSince(after);
  return changes;
}

/** The step that a row holds. */
export function stepState(row: Omit<StepRow, 'tenantId' | 'runId' | 'revision'>): StepState {
  return {
    id: row.id,
    nodeId: row.nodeId,
    nodeName: fromText(row.nodeName),
    nodeType: fromText(row.nodeType),
    status: row.status,
    attempt: row.attempt,
    delivery: row.delivery,
    lost: row.lost,
    readyAt: row.readyAt ?? null,
    assignee: fromText(row.assignee),
    input: fromTextOrNull(row.input),
    output: fromTextOrNull(row.output),
    outcome: fromTextOrNull(row.outcome),
    error: fromTextOrNull(row.error),
    taken: fromTextOrNull(row.taken),
    completion: fromTextOrNull(row.completion),
    dueAt: row.dueAt ?? null,
    createdAt: row.createdAt,
    startedAt: row.startedAt ?? null,
    completedAt: row.completedAt ?? null,
  };
}

/** Only human tasks wait. */
function openSince({ status, createdAt }: StepState): number | null {
  return status === 'waiting' ? createdAt : null;
}
