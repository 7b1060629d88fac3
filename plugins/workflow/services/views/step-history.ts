import { isJsonObject } from 'agent-gateway';
import type { AttemptRecord, StepHistory } from '../../contract/engine.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { StepRecord } from '../../contract/runs.ts';
import type { NewEvent } from '../core/commands.ts';
import { timestamp } from '../core/state.ts';
import { ownMember } from '../graph/json.ts';

/**
 * A step with its attempts, from its events, oldest first: one for each delivery. A delivery that was followed by
 * another one, or that no worker carries out any more, was interrupted. Events that belong to no delivery change
 * nothing. Pure.
 */
export function toStepHistory(record: StepRecord, events: readonly NewEvent[]): StepHistory {
  const attempts: AttemptRecord[] = [];
  let open: AttemptRecord | undefined;
  const close = (change: Partial<AttemptRecord>) => {
    if (open !== undefined) attempts.push({ ...open, ...change });
    open = undefined;
  };
  /**
   * `start` and `end` complete at once, and a step whose templates cannot be filled in fails before it is delivered.
   */
  const isWhole = ({ data }: NewEvent) => (numberIn(data, 'attempt') ?? 0) > (attempts.at(-1)?.attempt ?? 0);
  for (const event of events) {
    if (event.type === 'step.started' || event.type === 'task.created') {
      close({ status: 'interrupted' });
      open = begun(event);
    } else {
      const status = ENDS[event.type];
      if (status === undefined) continue;
      if (open === undefined && isWhole(event)) open = begun(event);
      close({ status, ...ended(event) });
    }
  }
  const isUnderWay = record.status === 'running' || record.status === 'waiting';
  close(isUnderWay ? {} : { status: 'interrupted' });
  return { ...record, attempts };
}

const ENDS: Partial<Record<NewEvent['type'], AttemptRecord['status']>> = {
  'step.completed': 'completed',
  'task.completed': 'completed',
  'step.failed': 'failed',
  'step.cancelled': 'cancelled',
};

function begun({ data, createdAt }: NewEvent): AttemptRecord {
  return {
    attempt: numberIn(data, 'attempt') ?? 1,
    delivery: numberIn(data, 'delivery') || 1,
    status: 'running',
    started_at: timestamp(createdAt),
    completed_at: null,
    error: null,
    record: null,
  };
}

function ended({ data, createdAt }: NewEvent) {
  return {
    completed_at: timestamp(createdAt),
    error: objectIn(data, 'error'),
    record: objectIn(data, 'record'),
  };
}

function numberIn(data: JsonObject, name: string): number | undefined {
  const value = ownMember(data, name);
  return typeof value === 'number' ? value : undefined;
}

function objectIn(data: JsonObject, name: string): JsonObject | null {
  const value = ownMember(data, name);
  return isJsonObject(value) ? (value as JsonObject) : null;
}
