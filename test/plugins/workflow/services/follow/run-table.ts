import type { RunStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import type { NewEvent } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import type { RunQueries } from '../../../../../plugins/workflow/store/run-queries.ts';

/** The run that these tests follow. */
export const PLACE = { tenantId: 'tenant', runId: 'run' };

/** A table with one run, and how often it was asked. */
export interface RunTable extends Pick<RunQueries, 'events' | 'position'> {
  /** Writes the next events, in one commit, and gives what the runner tells of it. */
  write(status: RunStatus, ...types: NewEvent['type'][]): readonly [RunState, readonly NewEvent[]];
  asked: { positions: number; pages: number };
  /** Rejects all questions while it is set. */
  failure: Error | undefined;
}

/** The run has `count` events already. */
export function runTable(count = 0, status: RunStatus = 'running'): RunTable {
  const events: NewEvent[] = Array.from({ length: count }, (_, index) => eventOf(index + 1, 'warning'));
  let current = status;
  const table: RunTable = {
    asked: { positions: 0, pages: 0 },
    failure: undefined,
    write(next, ...types) {
      current = next;
      const written = types.map((type, index) => eventOf(events.length + index + 1, type));
      events.push(...written);
      return [stateOf(next, events.length), written];
    },
    async events({ after = 0, limit }) {
      table.asked.pages += 1;
      if (table.failure !== undefined) throw table.failure;
      return { events: events.filter(({ seq }) => seq > after).slice(0, limit), total: events.length };
    },
    async position() {
      table.asked.positions += 1;
      if (table.failure !== undefined) throw table.failure;
      return events.length === 0 ? undefined : { status: current, seq: events.length };
    },
  };
  return table;
}

function eventOf(seq: number, type: NewEvent['type']): NewEvent {
  return { seq, type, nodeId: null, stepId: null, data: {}, createdAt: 1_000 + seq };
}

/** The state of that run, as far as followers look at it. */
export function stateOf(status: RunStatus, seq: number): RunState {
  return {
    id: PLACE.runId,
    tenantId: PLACE.tenantId,
    definitionId: 'definition',
    versionId: 'version',
    version: 1,
    status,
    revision: seq,
    seq,
    input: {},
    variables: {},
    error: null,
    owner: null,
    wakeAt: null,
    startedBy: 'ada',
    userId: null,
    startedAt: 0,
    begunAt: null,
    completedAt: null,
    updatedAt: 0,
    steps: new Map(),
  };
}
