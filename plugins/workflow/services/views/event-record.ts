import type { RunEventRecord } from '../../contract/runs.ts';
import type { NewEvent } from '../core/occurrence.ts';
import { timestamp } from '../core/timestamp.ts';
import { type Redactor, redactJson } from './redaction.ts';

/** An event on the wire. Its data were redacted before they were stored. */
export function toEventRecord(event: NewEvent): RunEventRecord {
  return {
    seq: event.seq,
    type: event.type,
    ...(event.nodeId !== null && { node_id: event.nodeId }),
    ...(event.stepId !== null && { step_run_id: event.stepId }),
    data: event.data,
    created_at: timestamp(event.createdAt),
  };
}

/** Events as they may be stored: their data without credentials. Costs next to nothing for events without text. */
export function redactEvents(events: readonly NewEvent[], redactor: Redactor): readonly NewEvent[] {
  return events.map((event) => {
    const data = redactJson(redactor, event.data);
    return data === event.data ? event : { ...event, data };
  });
}

/** True for the events after which nothing happens to a run. */
export function isTerminal({ type }: Pick<NewEvent, 'type'>): boolean {
  return type === 'run.completed' || type === 'run.cancelled';
}
