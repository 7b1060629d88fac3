import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { StepStatus } from '../contract/runs.ts';
import type { RunState, StepState } from '../services/core/state.ts';
import { changedColumns, entityName, fromColumns, LENGTHS, toColumns, toText } from './rows.ts';

/** Steps of runs. Nothing that an automatic step changes is in an index. */
export function stepTable(name: string) {
  return defineEntity({
    name: entityName(name, 'step'),
    tableName: `${name}_steps`,
    indexes: [
      { name: `${name}_steps_run`, properties: ['tenantId', 'runId'] },
      { name: `${name}_steps_open`, properties: ['tenantId', 'openSince'] },
    ],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      runId: column.id(),
      /**
       * Of the run, when the step was written last: a reader of both, one after the other, sees by it that the run
       * changed in between.
       */
      revision: column.integer(),
      nodeId: column.string(LENGTHS.nodeId),
      status: column.string(LENGTHS.status).$type<StepStatus>(),
      attempt: column.integer(),
      delivery: column.integer(),
      lost: column.integer(),
      readyAt: column.bigint().nullable(),
      dueAt: column.bigint().nullable(),
      createdAt: column.bigint(),
      startedAt: column.bigint().nullable(),
      completedAt: column.bigint().nullable(),
      /** The creation of a human task while it waits; null for everything else. It is what lists open tasks. */
      openSince: column.bigint().nullable(),
      /** JSON texts, from here on; also what is a text itself, since an author may put any character into it. */
      nodeName: column.text(),
      nodeType: column.text(),
      /** `null` where no assignee is named, so that one `in` finds what a user may complete. */
      assignee: column.text(),
      input: column.text().nullable(),
      output: column.text().nullable(),
      outcome: column.text().nullable(),
      error: column.text().nullable(),
      taken: column.text().nullable(),
      completion: column.text().nullable(),
    },
  });
}

export type StepRow = InferEntity<ReturnType<typeof stepTable>>;

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
