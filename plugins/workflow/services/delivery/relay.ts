import { type Clock, type Logger, recentMap, throttledLog } from 'agent-gateway';
import type { DeliveredEvent, EventSink } from '../../contract/event-sinks.ts';
import type { RelayMetrics } from '../../metrics.ts';
import type { Outbox, OutboxEntry, Taken } from '../../store/outbox.ts';
import type { RunQueries } from '../../store/run-queries.ts';
import { runKey } from '../run-key.ts';
import { toEventRecord } from '../views/records.ts';
import { createSinkChoice } from './sink-choice.ts';
import { createSinkCooldown, type SinkCooldown, SinkDispatcher } from './sink-dispatcher.ts';

/** Milliseconds before the next attempt, by the attempts that failed; the last one holds from then on. */
const PAUSES = [1, 5, 30, 120, 300, 900, 1_800, 3_600].map((seconds) => seconds * 1_000);
/** Milliseconds, by the database's clock, after which events that a sink does not take are given up: three days. */
const GIVE_UP_MS = 3 * 86_400_000;
/** Milliseconds that one delivery may take. */
const DELIVERY_MS = 30_000;
/** Milliseconds of a claim beyond that: for reading the events and writing to the outbox. */
const CLAIM_RESERVE_MS = 60_000;
/** Milliseconds after which an entry is checked again whose sink left while it was claimed. */
const AWAY_MS = 1_000;
const MAX_KNOWN_RUNS = 10_000;
const NOTHING: Taken = { entries: [], hasMore: false };

/** What events are relayed with. */
interface RelayParts {
  readonly outbox: Outbox;
  readonly queries: Pick<RunQueries, 'head' | 'events'>;
  /** The sinks that are registered now. */
  readonly sinks: () => readonly EventSink[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly metrics: RelayMetrics;
  /** Milliseconds that one delivery may take; default 30,000. */
  readonly deliveryMs?: number;
}

/**
 * The sink has all of the events, or refused them (a timeout counts as a refusal), or `signal` aborted before it ended.
 */
type Outcome = 'delivered' | 'refused' | 'ended';

/**
 * Brings the events of runs to the sinks (contract/event-sinks.ts). Events of one run reach each sink in order and at
 * least once: only the process that has claimed a run's events for a sink delivers them. A failed delivery is repeated
 * after 1, 5, 30, 120 s … an hour at most. Events that the sink refuses when they are three days old are given up, with
 * an error in the log.
 */
export function createRelay(parts: RelayParts) {
  const { outbox, queries, sinks, clock, log, metrics, deliveryMs = DELIVERY_MS } = parts;
  const choice = createSinkChoice({ sinks, clock, log });
  const definitions = recentMap<string>(MAX_KNOWN_RUNS);
  // Many runs wait for one look: all of them hear that it failed.
  const wait = throttledLog(clock, (err: unknown, count) =>
    log.warn({ err, count }, 'the outbox could not be looked at: events of runs wait for their delivery'),
  );
  /** By sink. There are as many as sinks ever came in the life of the process. */
  const dispatchers = new Map<string, SinkDispatcher>();

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
    const page = { tenantId, runId, after: fromSeq - 1, limit: toSeq - fromSeq + 1 };
    const { events } = await queries.events(page);
    const run = { tenant_id: tenantId, run_id: runId, definition_id: definitionId };
    return events.filter(({ seq }) => seq <= toSeq).map((event) => ({ ...toEventRecord(event), ...run }));
  }

  /**
   * Never rejects. A sink that does not end in time then gets no deliveries of the tenant for a while. `takenAt`:
   * monotonic time.
   */
  async function deliver(
    sink: EventSink,
    events: readonly DeliveredEvent[],
    { tenantId: tenant_id, runId: run_id, attempts, ageMs }: OutboxEntry,
    takenAt: number,
    cooldown: SinkCooldown,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const timeout = new Error(`it did not end within ${deliveryMs / 1_000} s`);
    try {
      await withDeadline(signal, deliveryMs, timeout, (end) => sink.deliver(events, end));
      cooldown.end(tenant_id);
      metrics.delivered(sink.name, events.length, ageMs + Math.max(0, clock.monotonic() - takenAt));
      return 'delivered';
    } catch (err) {
      if (signal.aborted) return 'ended';
      if (err === timeout) cooldown.begin(tenant_id);
      else cooldown.end(tenant_id);
      metrics.failed(sink.name);
      log.warn(
        { err, sink: sink.name, tenant_id, run_id, attempts },
        'events of a run were not delivered and come again later',
      );
      return 'refused';
    }
  }

  /** Delivers an entry, or returns for how many milliseconds it is postponed instead. */
  async function pass(
    entry: OutboxEntry,
    cooldown: SinkCooldown,
    signal: AbortSignal,
  ): Promise<Outcome | number> {
    const takenAt = clock.monotonic();
    if (signal.aborted) return 'ended';
    const sink = choice.named(entry.sink);
    // A plugin that is being reloaded is back soon, and its events are still in the outbox.
    if (sink === undefined) return AWAY_MS;
    const restMs = cooldown.leftMs(entry.tenantId);
    if (restMs > 0) return restMs;
    const events = await read(entry);
    if (events.length === 0) return 'delivered';
    // The claim would expire during the delivery, and another replica would deliver the next events.
    if (clock.monotonic() - takenAt > CLAIM_RESERVE_MS / 2) throw new Error('reading them took too long');
    return await deliver(sink, events, entry, takenAt, cooldown, signal);
  }

  /** True where the outbox has more of the run that is due now. */
  async function refused(entry: OutboxEntry): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, sink, fromSeq: from_seq } = entry;
    const events = entry.ageMs > GIVE_UP_MS ? await outbox.giveUp(entry, GIVE_UP_MS) : 0;
    if (events === 0) {
      await outbox.postpone(entry, PAUSES[Math.min(Math.max(1, entry.attempts), PAUSES.length) - 1]!);
      return false;
    }
    metrics.gaveUp(sink, events);
    log.error(
      { tenant_id, run_id, from_seq, events, sink },
      'events of a run are given up, since the sink did not take them for three days',
    );
    return true;
  }

  /** Never rejects; true where the outbox may have more, which could not be taken before. */
  async function handle(entry: OutboxEntry, cooldown: SinkCooldown, signal: AbortSignal): Promise<boolean> {
    const { tenantId: tenant_id, runId: run_id, sink } = entry;
    try {
      const outcome = await pass(entry, cooldown, signal);
      if (outcome === 'delivered') return await outbox.done(entry);
      if (outcome === 'refused') return await refused(entry);
      await outbox.giveBack(entry, outcome === 'ended' ? 0 : outcome);
    } catch (err) {
      // The claim expires, and the process that takes the entry next continues.
      log.error({ err, tenant_id, run_id, sink }, 'events of a run could not be relayed now');
    }
    return false;
  }

  function dispatcherOf(sink: string): SinkDispatcher {
    const known = dispatchers.get(sink);
    if (known !== undefined) return known;
    const cooldown = createSinkCooldown(clock);
    const claimMs = deliveryMs + CLAIM_RESERVE_MS;
    const dispatcher = new SinkDispatcher({
      take: async (limit, room) =>
        choice.named(sink) === undefined ? NOTHING : await outbox.take({ sink, limit, claimMs, room }),
      share: cooldown.share,
      handle: (entry, signal) => handle(entry, cooldown, signal),
      failed: wait,
    });
    dispatchers.set(sink, dispatcher);
    metrics.began(sink);
    return dispatcher;
  }

  /**
   * Begins to deliver what is due to sinks (default: to all that are registered; others are left out), and resolves
   * when nothing more is due, or can be taken now; slow deliveries go on until `signal` aborts, and entries that wait
   * for them follow. Called at an interval, and whenever something may be due; simultaneous calls share one run.
   * Rejects with what the outbox throws.
   */
  async function relay(signal: AbortSignal, names = choice.names()): Promise<void> {
    const here = names.filter((name) => choice.named(name) !== undefined);
    await Promise.all(here.map((sink) => dispatcherOf(sink).dispatch(signal)));
  }

  return {
    sinksOf: choice.wanting,

    relay,

    /** The same. Never rejects: a failure is logged, once a minute, and the events go on waiting. */
    async relayNow(signal: AbortSignal, names?: readonly string[]): Promise<void> {
      await relay(signal, names).catch(wait);
    },

    /** Gives up events for sinks that have been away for three days. Rejects with what the outbox throws. */
    async forget(): Promise<void> {
      const forgotten = await outbox.forget({ olderThanMs: GIVE_UP_MS, here: choice.names() });
      for (const { sink, events } of forgotten) {
        metrics.gaveUp(sink, events);
        log.error({ sink, events }, 'events are given up, since their sink was away for three days');
      }
    },

    /** Resolves when neither a delivery nor a look for more is under way. */
    async idle(): Promise<void> {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.idle()));
    },
  };
}

/**
 * Ends work when its time is over or `signal` aborts; a sink that ignores that is not waited for. The work has a signal
 * of its own: listeners that it leaves on that signal are collected with it, while those on a signal that lives as long
 * as the plugin would accumulate.
 */
async function withDeadline(
  signal: AbortSignal,
  timeoutMs: number,
  timeout: Error,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const own = new AbortController();
  const end = (reason: unknown) => {
    // First: what the sink throws because of the signal would hide the reason.
    reject(reason);
    own.abort(reason);
  };
  const onAbort = () => end(signal.reason);
  const timer = setTimeout(() => end(timeout), timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, work(own.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
