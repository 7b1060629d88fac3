import type { Clock, Events, Hints, Logger } from 'agent-gateway';
import type { RunPlace } from '../../contract/engine.ts';
import type { Wake } from '../ports/wake.ts';
import { type EngineHints, hintOf } from './hints.ts';

/** Messages that are on their way to the queue at one time; what comes on top is left to the sweeper. */
const MAX_IN_FLIGHT = 1_000;
/** The longest delay of a queue. A timer beyond it is told by a sweeper that sees it due. */
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;
/** Timers of one run that end within so much of each other are one message. */
const GRAIN_MS = 100;

/** What became of a hint to the queue. `lost`: the queue is full or away; `dropped`: too many were on their way. */
export type WakeResult = 'sent' | 'lost' | 'failed' | 'dropped';

/** What hints go out through. */
export interface WakeParts {
  readonly queue: Pick<Hints, 'send' | 'delivers'>;
  readonly events: Pick<Events, 'emit'>;
  readonly hints: Pick<EngineHints, 'look' | 'touched'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** Counts what became of each hint to the queue. Must not throw. */
  readonly count: (result: WakeResult) => void;
}

/**
 * Tells replicas that there is something to do: one of them through the queue, the owner of a run through an event. Fire and forget: what
 * fails is logged and counted, and the sweepers find the work.
 */
export function createWake({ queue, events, hints, clock, log, count }: WakeParts): Wake {
  let inFlight = 0;

  async function publish(place: RunPlace, { id, delay }: Timing): Promise<WakeResult> {
    if (inFlight >= MAX_IN_FLIGHT) return 'dropped';
    inFlight += 1;
    try {
      return (await queue.send(hints.look, hintOf(place), { id, delay })) ? 'sent' : 'lost';
    } catch (error) {
      log.warn({ err: error, runId: place.runId }, 'a hint could not be published');
      return 'failed';
    } finally {
      inFlight -= 1;
    }
  }

  return {
    look(place, delayMs = 0) {
      if (!queue.delivers) return;
      void publish(place, timingOf(place, delayMs, clock.now())).then(count);
    },
    changed(place) {
      try {
        events.emit(hints.touched, hintOf(place));
      } catch (error) {
        log.warn({ err: error, runId: place.runId }, 'an event could not be emitted');
      }
    },
  };
}

interface Timing {
  readonly id: string;
  readonly delay: number;
}

/**
 * While a message waits, others of its id are dropped with their delay: a look that is due now must not be taken for one that is due
 * tomorrow, so the id says when it is. Timers of one grain end with it, so that their one message comes before none of them.
 */
function timingOf({ runId }: RunPlace, delayMs: number, now: number): Timing {
  if (delayMs <= 0) return { id: runId, delay: 0 };
  const grain = Math.ceil((now + Math.min(delayMs, MAX_DELAY_MS - GRAIN_MS)) / GRAIN_MS);
  return { id: `${runId}.${grain}`, delay: Math.ceil(grain * GRAIN_MS - now) };
}
