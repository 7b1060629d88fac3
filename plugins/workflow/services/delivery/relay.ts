import type { Clock, Logger } from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { Outbox, OutboxEntry } from '../ports/outbox.ts';
import type { RunQueries } from '../ports/run-queries.ts';
import { toEventRecord } from '../views/event-record.ts';
import { createDeliver } from './deliver.ts';
import { Lane } from './lane.ts';
import { GIVE_UP_MS, pauseAfter } from './pauses.ts';
import { NO_RELAY_OBSERVER, type RelayObserver } from './relay-observer.ts';
import { createSinkChoice } from './sink-choice.ts';

/** Milliseconds that one delivery may take. */
const DELIVERY_MS = 30_000;
/** Milliseconds of a claim beyond that: for reading the events and telling the outbox. */
const CLAIM_RESERVE_MS = 60_000;
/** An entry of so many events may have left others behind: the outbox gives out so many together. */
const LARGE_ENTRY = 400;
const MAX_KNOWN_RUNS = 10_000;

/** What events are relayed with. */
export interface RelayParts {
  readonly outbox: Outbox;
  readonly queries: Pick<RunQueries, 'head' | 'events'>;
  /** The sinks that there are now. */
  readonly sinks: () => readonly EventSink[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: RelayObserver;
  /** Milliseconds that one delivery may take; default 30,000. */
  readonly deliveryMs?: number;
}

/** Brings the events of runs to the sinks (contract/event-sinks.ts). */
export interface Relay {
  /** Names of the sinks that want the events of a tenant. Never throws. */
  sinksOf(tenantId: string): readonly string[];
  /**
   * Begins to deliver what is due to sinks (default: to all that are here), and resolves when nothing more is; deliveries that take their time go on until
   * `signal` aborts. Called at an interval, and whenever there may be something; calls that meet are one. Rejects with what the outbox throws.
   */
  relay(signal: AbortSignal, sinks?: readonly string[]): Promise<void>;
  /** Gives up what waits for sinks that have been away for three days. Rejects with what the outbox throws. */
  forget(): Promise<void>;
  /** Resolves when no delivery is under way. */
  idle(): Promise<void>;
}

/**
 * Makes the relay. Events of one run reach each sink in order and at least once: whoever has claimed a run's events for a sink delivers them, and nobody
 * else. What fails comes again after 1, 5, 30, 120 s … an hour at most, and is given up after three days, with an error in the log.
 */
export function createRelay(parts: RelayParts): Relay {
  const {
    outbox,
    queries,
    sinks,
    clock,
    log,
    observer = NO_RELAY_OBSERVER,
    deliveryMs = DELIVERY_MS,
  } = parts;
  const choice = createSinkChoice({ sinks, log });
  const deliver = createDeliver({ clock, log, observer, timeoutMs: deliveryMs });
  const definitions = new LRUCache<string, string>({ max: MAX_KNOWN_RUNS });
  /** By sink. There are as many as sinks ever came in the life of the process. */
  const lanes = new Map<string, Lane>();

  /** Undefined where the run is gone. */
  async function definitionOf(entry: OutboxEntry): Promise<string | undefined> {
    const key = `${entry.tenantId} ${entry.runId}`;
    const known = definitions.get(key) ?? (await queries.head(entry))?.definitionId;
    if (known !== undefined) definitions.set(key, known);
    return known;
  }

  async function read(entry: OutboxEntry): Promise<readonly DeliveredEvent[]> {
    const { tenantId, runId, fromSeq, toSeq } = entry;
    const definitionId = await definitionOf(entry);
    if (definitionId === undefined) return [];
    const { events } = await queries.events({
      ...{ tenantId, runId, after: fromSeq - 1 },
      limit: toSeq - fromSeq + 1,
    });
    const run = { tenant_id: tenantId, run_id: runId, definition_id: definitionId };
    return events.filter(({ seq }) => seq <= toSeq).map((event) => ({ ...toEventRecord(event), ...run }));
  }

  /** Delivers an entry; true when the sink has it, or does not want it any more. */
  async function pass(entry: OutboxEntry, signal: AbortSignal): Promise<boolean> {
    const takenAt = clock.monotonic();
    const sink = choice.named(entry.sink);
    // A plugin that is set up anew is back soon, and its events are still there.
    if (sink === undefined) return false;
    if (!choice.wants(sink, entry.tenantId)) return true;
    const events = await read(entry);
    if (events.length === 0) return true;
    // The claim would end under way, and somebody else deliver what comes next.
    if (clock.monotonic() - takenAt > CLAIM_RESERVE_MS / 2) throw new Error('reading them took too long');
    return await deliver(sink, entry, events, signal);
  }

  /** Never rejects; true where the outbox may have more of the run, which could not be taken before. */
  async function handle(lane: Lane, entry: OutboxEntry, signal: AbortSignal): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, sink, fromSeq, toSeq } = entry;
    const askedBefore = lane.asked;
    try {
      if (await pass(entry, signal)) {
        await outbox.done(entry);
        return lane.asked !== askedBefore || toSeq - fromSeq + 1 >= LARGE_ENTRY;
      }
      if (signal.aborted || clock.now() - entry.createdAt <= GIVE_UP_MS) {
        await outbox.postpone(entry, signal.aborted ? 0 : pauseAfter(entry.attempts));
        return false;
      }
      await outbox.done(entry);
      observer.gaveUp(sink, toSeq - fromSeq + 1);
      log.error(
        { tenant_id, run_id, from_seq: fromSeq, to_seq: toSeq, sink },
        'events of a run are given up, since the sink did not take them for three days',
      );
      return true;
    } catch (err) {
      // The claim ends by itself, and whoever takes the entry then goes on.
      log.error({ err, tenant_id, run_id, sink }, 'events of a run could not be relayed now');
      return false;
    }
  }

  function laneOf(sink: string): Lane {
    const known = lanes.get(sink);
    if (known !== undefined) return known;
    const lane: Lane = new Lane({
      take: (limit) => outbox.take({ sink, limit, claimMs: deliveryMs + CLAIM_RESERVE_MS }),
      handle: (entry, signal) => handle(lane, entry, signal),
      failed: (err) => log.error({ err, sink }, 'the outbox could not be looked at'),
    });
    lanes.set(sink, lane);
    return lane;
  }

  return {
    sinksOf: choice.wanting,
    async relay(signal, names = choice.names()) {
      await Promise.all(names.map((sink) => laneOf(sink).relay(signal)));
    },
    async forget() {
      const forgotten = await outbox.forget({ dueForMs: GIVE_UP_MS, here: choice.names() });
      for (const { sink, events } of forgotten) {
        observer.gaveUp(sink, events);
        log.error({ sink, events }, 'events are given up, since their sink was away for three days');
      }
    },
    async idle() {
      await Promise.all([...lanes.values()].map((lane) => lane.idle()));
    },
  };
}
