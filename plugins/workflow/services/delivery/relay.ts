import type { Clock, Logger } from 'agent-gateway';
import { LRUCache } from 'lru-cache';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { Outbox, OutboxEntry } from '../ports/outbox.ts';
import type { RunQueries } from '../ports/run-queries.ts';
import { toEventRecord } from '../views/event-record.ts';
import { createDeliver } from './deliver.ts';
import { GIVE_UP_MS, pauseAfter } from './pauses.ts';
import { createProgress } from './progress.ts';
import { NO_RELAY_OBSERVER, type RelayObserver } from './relay-observer.ts';
import { createSinkChoice } from './sink-choice.ts';

/** Runs whose events are under way at one time, in one process. */
const CONCURRENCY = 32;
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
  /** Whether somebody wants the events of a tenant. Never throws. */
  isWanted(tenantId: string): boolean;
  /**
   * Begins to deliver what is due, and resolves when nothing more is; deliveries that take their time go on until `signal` aborts. Called at an interval,
   * and whenever there may be something; calls that meet are one. Rejects with what the outbox throws.
   */
  relay(signal: AbortSignal): Promise<void>;
  /** Resolves when no delivery is under way. */
  idle(): Promise<void>;
}

/**
 * Makes the relay. Events of one run reach each sink in order and at least once: whoever has claimed a run's events delivers them, and nobody else. What
 * fails comes again after 1, 5, 30, 120 s … an hour at most, and is given up after three days, with an error in the log.
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
  const progress = createProgress();
  const deliver = createDeliver({ progress, clock, log, observer, timeoutMs: deliveryMs });
  const definitions = new LRUCache<string, string>({ max: MAX_KNOWN_RUNS });
  const underWay = new Set<Promise<void>>();
  let taking: Promise<void> | undefined;
  /** How often somebody said that there may be something. */
  let asked = 0;

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

  /** Delivers an entry as far as it goes; the names of the sinks that do not have it. */
  async function pass(entry: OutboxEntry, signal: AbortSignal): Promise<readonly string[]> {
    const takenAt = clock.monotonic();
    const wanting = choice.wanting(entry.tenantId);
    // A plugin that is set up anew is back soon, and its events are still there.
    if (wanting === undefined) return ['(no sink is here)'];
    if (wanting.length === 0) return [];
    const events = await read(entry);
    // The claim would end under way, and somebody else deliver what comes next.
    if (clock.monotonic() - takenAt > CLAIM_RESERVE_MS / 2) throw new Error('reading them took too long');
    const results = await Promise.all(
      wanting.map(async (sink) => ((await deliver(sink, entry, events, signal)) ? [] : [sink.name])),
    );
    return results.flat();
  }

  /** Never rejects; true where the outbox may have more of the run, which could not be taken before. */
  async function handle(entry: OutboxEntry, signal: AbortSignal): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, fromSeq, toSeq } = entry;
    const askedBefore = asked;
    try {
      const failed = await pass(entry, signal);
      if (failed.length === 0) {
        await outbox.done([entry]);
        return asked !== askedBefore || toSeq - fromSeq + 1 >= LARGE_ENTRY;
      }
      if (signal.aborted || clock.now() - entry.createdAt <= GIVE_UP_MS) {
        await outbox.postpone(entry, signal.aborted ? 0 : pauseAfter(entry.attempts));
        return false;
      }
      await outbox.done([entry]);
      observer.gaveUp(toSeq - fromSeq + 1);
      log.error(
        { tenant_id, run_id, from_seq: fromSeq, to_seq: toSeq, sinks: failed },
        'events of a run are given up, since nobody took them for three days',
      );
      return true;
    } catch (err) {
      // The claim ends by itself, and whoever takes the entry then goes on.
      log.error({ err, tenant_id, run_id }, 'events of a run could not be relayed now');
      return false;
    }
  }

  function begin(entry: OutboxEntry, signal: AbortSignal): void {
    const work = handle(entry, signal).then((hasMore) => {
      underWay.delete(work);
      if (hasMore && !signal.aborted) relay(signal).catch(logFailure);
    });
    underWay.add(work);
  }

  const logFailure = (err: unknown) => log.error({ err }, 'the outbox could not be looked at');

  async function takeAll(signal: AbortSignal): Promise<void> {
    const claimMs = deliveryMs + CLAIM_RESERVE_MS;
    while (!signal.aborted) {
      if (underWay.size >= CONCURRENCY) await Promise.race(underWay);
      const room = CONCURRENCY - underWay.size;
      const askedBefore = asked;
      const entries = await outbox.take({ limit: room, claimMs });
      for (const entry of entries) begin(entry, signal);
      if (entries.length < room && asked === askedBefore) return;
    }
  }

  function relay(signal: AbortSignal): Promise<void> {
    asked += 1;
    taking ??= takeAll(signal).finally(() => {
      taking = undefined;
    });
    return taking;
  }

  return {
    isWanted: choice.isWanted,
    relay,
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
