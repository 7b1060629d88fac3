import type { NewEvent } from '../services/core/commands.ts';
import type { StoredEvent } from '../services/ports/run-queries.ts';
import { fromText, toText } from './json-text.ts';
import type { EventRow } from './tables/event-table.ts';

/** The row of a new event. */
export function eventRow(runId: string, event: NewEvent): Omit<EventRow, 'tenantId'> {
  const { seq, type, nodeId, stepId, data, createdAt } = event;
  return { runId, seq, type, nodeId, stepId, data: toText(data), createdAt };
}

/** The event that a row holds. */
export function storedEvent(row: EventRow): StoredEvent {
  const { seq, type, nodeId, stepId, data, createdAt } = row;
  return { seq, type, nodeId: nodeId ?? null, stepId: stepId ?? null, data: fromText(data), createdAt };
}
