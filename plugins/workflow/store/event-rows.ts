import type { NewEvent } from '../services/core/commands.ts';
import { fromColumns, toColumns } from './rows.ts';
import type { EventRow } from './tables.ts';

/** The row of a new event. */
export function eventRow(runId: string, event: NewEvent): Omit<EventRow, 'tenantId'> {
  return { runId, ...toColumns(event, ['data']) };
}

/** The event that a row holds; its data were redacted before they were stored. */
export function storedEvent({ tenantId: _tenant, runId: _run, ...columns }: EventRow): NewEvent {
  return fromColumns<NewEvent>(columns, ['data']);
}
