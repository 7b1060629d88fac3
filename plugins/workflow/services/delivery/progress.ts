import { LRUCache } from 'lru-cache';
import type { RunPlace } from '../../contract/engine.ts';

/** Runs and sinks that are remembered at most. */
const MAX_REMEMBERED = 20_000;

/** How far each sink is with each run, as far as this process knows. */
export interface Progress {
  /** Number of the last event that the sink took; 0 where nothing is known. */
  of(sink: string, run: RunPlace): number;
  note(sink: string, run: RunPlace, seq: number): void;
}

/**
 * Makes it. The outbox knows runs and no sinks: where one of several sinks fails, this keeps the others from getting the same events at every attempt. It
 * is a hint: another replica, and this one after a restart, deliver to all of them again.
 */
export function createProgress(): Progress {
  const last = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  const keyOf = (sink: string, { tenantId, runId }: RunPlace) => `${sink} ${tenantId} ${runId}`;
  return {
    of: (sink, run) => last.get(keyOf(sink, run)) ?? 0,
    note: (sink, run, seq) => void last.set(keyOf(sink, run), seq),
  };
}
