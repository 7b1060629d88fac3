import type { RunRecord } from '../../contract/runs.ts';
import type { RunState } from '../core/run-state.ts';
import { nullableTimestamp, timestamp } from '../core/timestamp.ts';
import { type Redactor, redactJson } from './redaction.ts';

/** What is told of a run: all of its state but the steps and the engine's own affairs. */
export type RunFacts = Pick<
  RunState,
  | 'id'
  | 'definitionId'
  | 'versionId'
  | 'version'
  | 'status'
  | 'input'
  | 'variables'
  | 'error'
  | 'startedBy'
  | 'startedAt'
  | 'completedAt'
  | 'updatedAt'
>;

/** A run on the wire, redacted. */
export function toRunRecord(run: RunFacts, redactor: Redactor): RunRecord {
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
