import type { DurableEvents, RowWrite } from 'agent-gateway';
import { RunEnded, RunFailed, RunStarted } from '../contract/durable-events.ts';
import type { NewEvent } from '../services/core/commands.ts';
import type { RunState } from '../services/core/state.ts';

/** The durable events for subscribers that a commit of a run publishes, as writes of that commit. */
export type RunEventWrites = (state: RunState, events: readonly NewEvent[]) => readonly RowWrite[];

/** Makes the durable events of runs. */
export function createRunEvents(durableEvents: Pick<DurableEvents, 'writes'>): RunEventWrites {
  function writesOf(state: RunState, { type, createdAt }: NewEvent): readonly RowWrite[] {
    const run = { run_id: state.id, definition_id: state.definitionId, version: state.version };
    switch (type) {
      case 'run.started':
        return durableEvents.writes(RunStarted, run);
      case 'run.completed':
      case 'run.cancelled': {
        const status = type === 'run.completed' ? 'completed' : 'cancelled';
        const duration_ms = Math.max(0, createdAt - state.startedAt);
        return durableEvents.writes(RunEnded, { ...run, status, duration_ms });
      }
      case 'run.paused': {
        const { code = 'unknown', node } = state.error ?? {};
        return durableEvents.writes(RunFailed, { ...run, error: code, node_id: node ?? null });
      }
      default:
        return [];
    }
  }

  return (state, events) => events.flatMap((event) => writesOf(state, event));
}
