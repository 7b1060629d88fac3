import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { RunEventType } from '../../contract/runs.ts';
import { entityName, LENGTHS } from './names.ts';

/** Events of runs. The id of a run is the gateway's own, so a key that begins with it tells no tenant of another. */
export function eventTable(name: string) {
  return defineEntity({
    name: entityName(name, 'event'),
    tableName: `${name}_events`,
    properties: {
      runId: column.id().primary(),
      seq: column.integer().unsigned(false).primary(),
      tenantId: column.tenant(),
      type: column.string(LENGTHS.eventType).$type<RunEventType>(),
      nodeId: column.string(LENGTHS.nodeId).nullable(),
      stepId: column.id().nullable(),
      /** JSON text. */
      data: column.text(),
      createdAt: column.bigint(),
    },
  });
}

export type EventTable = ReturnType<typeof eventTable>;
export type EventRow = InferEntity<EventTable>;
