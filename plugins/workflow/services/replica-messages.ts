import {
  type Clock,
  defineEvent,
  defineHint,
  type Events,
  type Hints,
  type Logger,
  Type,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { RunPlace } from '../contract/engine.ts';
import type { Notifier } from './ports/runtime.ts';

const Place = Type.Object({
  tenant_id: Type.String({ maxLength: 64 }),
  run_id: Type.String({ maxLength: 64 }),
});
const Changed = Type.Object({ ...Place.properties, seq: Type.Integer({ minimum: 0 }) });

/** A run, as replicas name it to each other. */
export type RunMessage = Static<typeof Place>;

export type ReplicaMessages = ReturnType<typeof replicaMessages>;

/**
 * What the replicas of the engine of that name send each other; engines with other names do not receive it. Each
 * message may be lost: the tables are the source of truth.
 */
export function replicaMessages(name: string) {
  return {
    /** Some replica should poll a run. */
    look: defineHint(`${name}.look`, Place),
    /** The owner of the run should read it: another replica has changed it. */
    touched: defineEvent(`${name}.run-touched`, Place),
    /** This replica follows a run: others notify it of changes. */
    follow: defineEvent(`${name}.follow`, Place),
    /** A run that is followed has events up to this number. */
    changed: defineEvent(`${name}.changed`, Changed),
  };
}

/** The run of a message. */
export function toPlace({ tenant_id, run_id }: RunMessage): RunPlace {
  return { tenantId: tenant_id, runId: run_id };
}

/** A run as a message names it. */
export function toMessage({ tenantId, runId }: RunPlace): RunMessage {
  return { tenant_id: tenantId, run_id: runId };
}

/** Messages that are on their way to the queue at one time; further ones are left to the sweeps. */
const MAX_IN_FLIGHT = 1_000;
/** The longest delay of a queue. The sweeps find what is due after it. */
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;
/** Timers of one run that end within so much of each other are one message. */
const GRAIN_MS = 100;

/** The outcome of a message to the queue. `lost`: the queue is full or away; `dropped`: too many were on their way. */
export type NotifyResult = 'sent' | 'lost' | 'failed' | 'dropped';

/** What a notifier sends through. */
interface NotifierParts {
  readonly queue: Pick<Hints, 'send'>;
  readonly events: Pick<Events, 'emit'>;
  readonly messages: Pick<ReplicaMessages, 'look' | 'touched'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** Counts the outcome of each message to the queue. Must not throw. */
  readonly count: (result: NotifyResult) => void;
}

/**
 * Notifies replicas that there is something to do: one of them through the queue, the owner of a run through an event.
 * Fire and forget: what fails is logged and counted, and the sweeps find the work.
 */
export function createNotifier({ queue, events, messages, clock, log, count }: NotifierParts): Notifier {
  let inFlight = 0;

  async function publish(place: RunPlace, timing: ReturnType<typeof timingOf>): Promise<NotifyResult> {
    if (inFlight >= MAX_IN_FLIGHT) return 'dropped';
    inFlight += 1;
    try {
      return (await queue.send(messages.look, toMessage(place), timing)) ? 'sent' : 'lost';
    } catch (err) {
      log.warn({ err, ...toMessage(place) }, 'a hint could not be published');
      return 'failed';
    } finally {
      inFlight -= 1;
    }
  }

  return {
    poll(place, delayMs = 0) {
      void publish(place, timingOf(place, delayMs, clock.now())).then(count);
    },
    changed(place) {
      try {
        events.emit(messages.touched, toMessage(place));
      } catch (err) {
        log.warn({ err, ...toMessage(place) }, 'an event could not be emitted');
      }
    },
  };
}

/**
 * While a message waits, the queue drops others with its id, whatever their delay: a poll that is due now must not be
 * dropped for one that is due tomorrow, so the id contains the time. Timers in one grain share a message at the end of
 * the grain, so that it is early for none of them.
 */
function timingOf({ runId }: RunPlace, delayMs: number, now: number) {
  if (delayMs <= 0) return { id: runId, delay: 0 };
  const grain = Math.ceil((now + Math.min(delayMs, MAX_DELAY_MS - GRAIN_MS)) / GRAIN_MS);
  return { id: `${runId}.${grain}`, delay: Math.ceil(grain * GRAIN_MS - now) };
}
