import {
  type Clock,
  defineEvent,
  defineQueue,
  type EventRef,
  type Events,
  type Logger,
  type Queue,
  type QueueRef,
} from 'agent-gateway';
import Type from 'typebox';
import type { RunPlace } from '../contract/engine.ts';
import type { Notifier } from './ports/runtime.ts';

/** A run, as replicas tell each other of it. */
const Place = Type.Object({
  tenant_id: Type.String({ maxLength: 64 }),
  run_id: Type.String({ maxLength: 64 }),
});
const Changed = Type.Object({ ...Place.properties, seq: Type.Integer({ minimum: 0 }) });

/** A run on the wire between replicas. */
export interface RunMessage {
  readonly tenant_id: string;
  readonly run_id: string;
}

/** What the replicas of one engine tell each other. All of them are hints: the tables say what is so. */
export interface ReplicaMessages {
  /** Some replica should look at a run. */
  readonly look: QueueRef<RunMessage>;
  /** Whoever owns the run should look at it: somebody else has changed it. */
  readonly touched: EventRef<RunMessage>;
  /** Somebody follows a run here: whoever changes it, tell. */
  readonly follow: EventRef<RunMessage>;
  /** A run that somebody follows has events up to this number. */
  readonly changed: EventRef<RunMessage & { readonly seq: number }>;
}

/** The hints of the engine of that name; engines over other tables do not hear them. */
export function replicaMessages(name: string): ReplicaMessages {
  return {
    look: defineQueue(`${name}.look`, Place),
    touched: defineEvent(`${name}.run-touched`, Place),
    follow: defineEvent(`${name}.follow`, Place),
    changed: defineEvent(`${name}.changed`, Changed),
  };
}

/** The run of a hint. */
export function toPlace({ tenant_id, run_id }: RunMessage): RunPlace {
  return { tenantId: tenant_id, runId: run_id };
}

/** A run as a hint tells of it. */
export function toMessage({ tenantId, runId }: RunPlace): RunMessage {
  return { tenant_id: tenantId, run_id: runId };
}

/** Messages that are on their way to the queue at one time; what comes on top is left to the sweeper. */
const MAX_IN_FLIGHT = 1_000;
/** The longest delay of a queue. A timer beyond it is told by a sweeper that sees it due. */
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;
/** Timers of one run that end within so much of each other are one message. */
const GRAIN_MS = 100;

/** What became of a hint to the queue. `lost`: the queue is full or away; `dropped`: too many were on their way. */
export type NotifyResult = 'sent' | 'lost' | 'failed' | 'dropped';

/** What hints go out through. */
interface NotifierParts {
  readonly queue: Pick<Queue, 'publish' | 'delivers'>;
  readonly events: Pick<Events, 'emit'>;
  readonly hints: Pick<ReplicaMessages, 'look' | 'touched'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** Counts what became of each hint to the queue. Must not throw. */
  readonly count: (result: NotifyResult) => void;
}

/**
 * Tells replicas that there is something to do: one of them through the queue, the owner of a run through an event. Fire and forget: what
 * fails is logged and counted, and the sweepers find the work.
 */
export function createNotifier({ queue, events, hints, clock, log, count }: NotifierParts): Notifier {
  let inFlight = 0;

  async function publish(place: RunPlace, { id, delay }: Timing): Promise<NotifyResult> {
    if (inFlight >= MAX_IN_FLIGHT) return 'dropped';
    inFlight += 1;
    try {
      return (await queue.publish(hints.look, toMessage(place), { id, delay })) ? 'sent' : 'lost';
    } catch (error) {
      log.warn({ err: error, runId: place.runId }, 'a hint could not be published');
      return 'failed';
    } finally {
      inFlight -= 1;
    }
  }

  return {
    poll(place, delayMs = 0) {
      if (!queue.delivers) return;
      void publish(place, timingOf(place, delayMs, clock.now())).then(count);
    },
    changed(place) {
      try {
        events.emit(hints.touched, toMessage(place));
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
