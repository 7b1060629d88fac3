import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { RunEventType } from '../contract/runs.ts';
import type { NewEvent } from '../services/core/commands.ts';
import { entityName, fromColumns, LENGTHS, toColumns } from './rows.ts';

/**
 * Events of runs. The id of a run is the gateway's own, so a key that begins with it reveals nothing of other tenants.
 */
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

type EventRow = InferEntity<ReturnType<typeof eventTable>>;

/** The row of a new event. */
export function eventRow(runId: string, event: NewEvent): Omit<EventRow, 'tenantId'> {
  return { runId, ...toColumns(event, ['data']) };
}

/** The event that a row holds; its data were redacted before they were stored. */
export function storedEvent({ tenantId: _tenant, runId: _run, ...columns }: EventRow): NewEvent {
  return fromColumns<NewEvent>(columns, ['data']);
}
