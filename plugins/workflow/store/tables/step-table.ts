import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { StepStatus } from '../../contract/runs.ts';
import { entityName, LENGTHS } from './names.ts';

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
      /** Of the run, when the step was written last: who reads both one after the other sees by it that the run moved on in between. */
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
      /** `null` where nobody is named, so that one `in` finds what somebody may complete. */
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

export type StepTable = ReturnType<typeof stepTable>;
export type StepRow = InferEntity<StepTable>;
