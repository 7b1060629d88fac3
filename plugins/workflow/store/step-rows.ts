import type { RunState, StepState } from '../services/core/state.ts';
import { changedColumns, fromColumns, toColumns, toText } from './rows.ts';
import type { StepRow } from './tables.ts';

/** A row without its tenant, as it is inserted. */
export type NewStepRow = Omit<StepRow, 'tenantId'>;

/** Members whose columns are JSON texts. */
const JSON_MEMBERS = [
  'nodeName',
  'nodeType',
  'assignee',
  'input',
  'output',
  'outcome',
  'error',
  'taken',
  'completion',
] as const;

/** The row of a new step. */
export function stepRow(
  { id: runId, revision }: Pick<RunState, 'id' | 'revision'>,
  step: StepState,
): NewStepRow {
  const assignee = toText(step.assignee);
  return { ...toColumns(step, JSON_MEMBERS), assignee, runId, revision, openSince: openSince(step) };
}

/** The columns in which a step differs from what it was; objects are compared by identity. Empty where it does not. */
export function stepChanges(before: StepState, after: StepState): Partial<NewStepRow> {
  const changes = changedColumns(before, after, JSON_MEMBERS);
  if ('assignee' in changes) changes.assignee = toText(after.assignee);
  if (openSince(before) !== openSince(after)) changes.openSince = openSince(after);
  return changes;
}

/** The step that a row holds. */
export function stepState(row: StepRow): StepState {
  const { tenantId: _tenant, runId: _run, revision: _revision, openSince: _open, ...columns } = row;
  return fromColumns<StepState>(columns, JSON_MEMBERS);
}

/** Only human tasks wait. */
function openSince({ status, createdAt }: StepState): number | null {
  return status === 'waiting' ? createdAt : null;
}
