import type { Clock, Logger } from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { Outbox, OutboxEntry, Taken } from '../ports/outbox.ts';
import type { RunQueries } from '../ports/run-queries.ts';
import { runKey } from '../run-key.ts';
import { toEventRecord } from '../views/records.ts';
import { createDeliver, type Outcome } from './deliver.ts';
import { Lane } from './lane.ts';
import { GIVE_UP_MS, pauseAfter } from './pauses.ts';
import { NO_RELAY_OBSERVER, type RelayObserver } from './relay-observer.ts';
import { createRests, type Rests } from './rests.ts';
import { createSinkChoice } from './sink-choice.ts';

/** Milliseconds that one delivery may take. */
const DELIVERY_MS = 30_000;
/** Milliseconds of a claim beyond that: for reading the events and telling the outbox. */
const CLAIM_RESERVE_MS = 60_000;
/** Milliseconds after which an entry is looked at again whose sink has left under way. */
const AWAY_MS = 1_000;
const MAX_KNOWN_RUNS = 10_000;
const NOTHING: Taken = { entries: [], hasMore: false };

/** What events are relayed with. */
export interface RelayParts {
  readonly outbox: Outbox;
  readonly queries: Pick<RunQueries, 'head' | 'events'>;
  /** The sinks that there are now. */
  readonly sinks: () => readonly EventSink[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly observer?: RelayObserver;
  /** Milliseconds that one delivery may take; default 30,000. */
  readonly deliveryMs?: number;
}

/** Brings the events of runs to the sinks (contract/event-sinks.ts). */
export interface Relay {
  /** Names of the sinks for which events of a tenant are to be noted, those that left lately too. Never throws. */
  sinksOf(tenantId: string): readonly string[];
  /**
   * Begins to deliver what is due to sinks (default: to all that are here; others are left out), and resolves when nothing more is, or can be taken
   * now; deliveries that take their time go on until `signal` aborts, and what waits for their end follows. Called at an interval, and whenever
   * there may be something; calls that meet are one. Rejects with what the outbox throws.
   */
  relay(signal: AbortSignal, sinks?: readonly string[]): Promise<void>;
  /** Gives up what waits for sinks that have been away for three days. Rejects with what the outbox throws. */
  forget(): Promise<void>;
  /** Resolves when neither a delivery nor a look for more is under way. */
  idle(): Promise<void>;
}

/** The way to one sink. */
interface Way {
  readonly lane: Lane;
  readonly rests: Rests;
}

/**
 * Makes the relay. Events of one run reach each sink in order and at least once: whoever has claimed a run's events for a sink delivers them, and nobody
 * else. What fails comes again after 1, 5, 30, 120 s … an hour at most. What the sink refuses when it is three days old is given up, with an
 * error in the log.
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
  const choice = createSinkChoice({ sinks, clock, log });
  const deliver = createDeliver({ clock, log, observer, timeoutMs: deliveryMs });
  const definitions = new LRUCache<string, string>({ max: MAX_KNOWN_RUNS });
  /** By sink. There are as many as sinks ever came in the life of the process. */
  const ways = new Map<string, Way>();

  /** Undefined where the run is gone. */
  async function definitionOf(entry: OutboxEntry): Promise<string | undefined> {
    const key = runKey(entry);
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

  /** Delivers an entry, or says for how many milliseconds it is left alone without that. */
  async function pass(entry: OutboxEntry, rests: Rests, signal: AbortSignal): Promise<Outcome | number> {
    const takenAt = clock.monotonic();
    if (signal.aborted) return 'ended';
    const sink = choice.named(entry.sink);
    // A plugin that is set up anew is back soon, and its events are still there.
    if (sink === undefined) return AWAY_MS;
    const restMs = rests.leftMs(entry.tenantId);
    if (restMs > 0) return restMs;
    const events = await read(entry);
    if (events.length === 0) return 'delivered';
    // The claim would end under way, and somebody else deliver what comes next.
    if (clock.monotonic() - takenAt > CLAIM_RESERVE_MS / 2) throw new Error('reading them took too long');
    return await deliver({ sink, rests, entry, events, takenAt }, signal);
  }

  /** True where the outbox has more of the run that is due now. */
  async function refused(entry: OutboxEntry): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, sink, fromSeq: from_seq } = entry;
    const events = entry.ageMs > GIVE_UP_MS ? await outbox.giveUp(entry, GIVE_UP_MS) : 0;
    if (events === 0) {
      await outbox.postpone(entry, pauseAfter(entry.attempts));
      return false;
    }
    observer.gaveUp(sink, events);
    log.error(
      { tenant_id, run_id, from_seq, events, sink },
      'events of a run are given up, since the sink did not take them for three days',
    );
    return true;
  }

  /** Never rejects; true where the outbox may have more, which could not be taken before. */
  async function handle(entry: OutboxEntry, rests: Rests, signal: AbortSignal): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, sink } = entry;
    try {
      const outcome = await pass(entry, rests, signal);
      if (outcome === 'delivered') return await outbox.done(entry);
      if (outcome === 'refused') return await refused(entry);
      await outbox.giveBack(entry, outcome === 'ended' ? 0 : outcome);
    } catch (err) {
      // The claim ends by itself, and whoever takes the entry then goes on.
      log.error({ err, tenant_id, run_id, sink }, 'events of a run could not be relayed now');
    }
    return false;
  }

  function wayTo(sink: string): Way {
    const known = ways.get(sink);
    if (known !== undefined) return known;
    const rests = createRests(clock);
    const claimMs = deliveryMs + CLAIM_RESERVE_MS;
    const lane = new Lane({
      take: async (limit, room) =>
        choice.named(sink) === undefined ? NOTHING : await outbox.take({ sink, limit, claimMs, room }),
      share: rests.share,
      handle: (entry, signal) => handle(entry, rests, signal),
      failed: (err) => log.error({ err, sink }, 'the outbox could not be looked at'),
    });
    ways.set(sink, { lane, rests });
    return { lane, rests };
  }

  return {
    sinksOf: choice.wanting,
    async relay(signal, names = choice.names()) {
      const here = names.filter((name) => choice.named(name) !== undefined);
      await Promise.all(here.map((sink) => wayTo(sink).lane.relay(signal)));
    },
    async forget() {
      const forgotten = await outbox.forget({ olderThanMs: GIVE_UP_MS, here: choice.names() });
      for (const { sink, events } of forgotten) {
        observer.gaveUp(sink, events);
        log.error({ sink, events }, 'events are given up, since their sink was away for three days');
      }
    },
    async idle() {
      await Promise.all([...ways.values()].map(({ lane }) => lane.idle()));
    },
  };
}
