import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { RunStatus } from '../../contract/runs.ts';
import { entityName, LENGTHS } from './names.ts';

/**
 * Runs of an engine. What changes at each step of a chain (`revision`, `seq`, `updated_at`) is in no index: PostgreSQL then writes the new row
 * beside the old one and leaves all indexes as they are. `owner` and `wake_at` are null where nobody has to do anything, so that finished
 * runs are never looked through.
 */
export function runTable(name: string) {
  return defineEntity({
    name: entityName(name, 'run'),
    tableName: `${name}_runs`,
    indexes: [
      { name: `${name}_runs_started`, properties: ['tenantId', 'startedAt'] },
      { name: `${name}_runs_definition`, properties: ['tenantId', 'definitionId', 'startedAt'] },
      { name: `${name}_runs_status`, properties: ['tenantId', 'status', 'startedAt'] },
      { name: `${name}_runs_wake`, properties: ['wakeAt'] },
      { name: `${name}_runs_owner`, properties: ['owner'] },
    ],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      definitionId: column.string(LENGTHS.definitionId),
      versionId: column.id(),
      version: column.integer(),
      status: column.string(LENGTHS.status).$type<RunStatus>(),
      revision: column.integer(),
      seq: column.integer(),
      /** JSON texts: any character survives in them on every database. */
      input: column.text(),
      variables: column.text(),
      error: column.text().nullable(),
      owner: column.string(LENGTHS.worker).nullable(),
      /** Times are milliseconds since the epoch on the database's clock, as the rules compute with them. */
      wakeAt: column.bigint().nullable(),
      startedBy: column.string(LENGTHS.identity),
      startedAt: column.bigint(),
      completedAt: column.bigint().nullable(),
      updatedAt: column.bigint(),
    },
  });
}

export type RunTable = ReturnType<typeof runTable>;
export type RunRow = InferEntity<RunTable>;
