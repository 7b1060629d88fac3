import type { RunState, StepState } from '../services/core/state.ts';
import type { RunHead } from '../services/ports/run-queries.ts';
import { fromText, fromTextOrNull, toText, toTextOrNull } from './json-text.ts';
import type { RunRow } from './tables/run-table.ts';

/** A row without its tenant, as it is inserted. */
export type NewRunRow = Omit<RunRow, 'tenantId'>;

/** Members that may change and are columns as they are. */
const PLAIN = [
  'status',
  'revision',
  'seq',
  'owner',
  'wakeAt',
  'completedAt',
  'updatedAt',
] as const satisfies readonly (keyof RunHead & keyof RunRow)[];

/** The row of a new run. */
export function runRow(run: RunHead): NewRunRow {
  return {
    id: run.id,
    definitionId: run.definitionId,
    versionId: run.versionId,
    version: run.version,
    status: run.status,
    revision: run.revision,
    seq: run.seq,
    input: toText(run.input),
    variables: toText(run.variables),
    error: toTextOrNull(run.error),
    owner: run.owner,
    wakeAt: run.wakeAt,
    startedBy: run.startedBy,
    startedAt: run.startedAt,
    completedAt: run.completedAt,
    updatedAt: run.updatedAt,
  };
}

/** The columns in which a run differs from what it was; objects are compared by identity. What a run starts with never changes. */
export function runChanges(before: RunHead, after: RunHead): Partial<NewRunRow> {
  const changes: Record<string, unknown> = {};
  for (const name of PLAIN) {
    if (before[name] !== after[name]) changes[name] = after[name];
  }
  if (before.variables !== after.variables) changes.variables = toText(after.variables);
  if (before.error !== after.error) changes.error = toTextOrNull(after.error);
  return changes;
}

/** The run that a row holds, without its steps. */
export function runHead(row: RunRow): RunHead {
  return {
    id: row.id,
    tenantId: row.tenantId,
    definitionId: row.definitionId,
    versionId: row.versionId,
    version: row.version,
    status: row.status,
    revision: row.revision,
    seq: row.seq,
    input: fromText(row.input),
    variables: fromText(row.variables),
    error: fromTextOrNull(row.error),
    owner: row.owner ?? null,
    wakeAt: row.wakeAt ?? null,
    startedBy: row.startedBy,
    startedAt: row.startedAt,
    completedAt: row.completedAt ?? null,
    updatedAt: row.updatedAt,
  };
}

/** A run with its steps. */
export function runState(head: RunHead, steps: readonly StepState[]): RunState {
  return { ...head, steps: new Map(steps.map((step) => [step.nodeId, step])) };
}
