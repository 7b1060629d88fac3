import type { RunPlace } from '../../../../../plugins/workflow/contract/engine.ts';
import type { DeliveredEvent, EventSink } from '../../../../../plugins/workflow/contract/event-sinks.ts';
import { createRelay } from '../../../../../plugins/workflow/services/delivery/relay.ts';
import type { Outbox, OutboxEntry } from '../../../../../plugins/workflow/store/outbox.ts';
import type { RunQueries } from '../../../../../plugins/workflow/store/run-queries.ts';
import type { RunHead } from '../../../../../plugins/workflow/store/run-rows.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { eventsOf } from '../../store/states.ts';
import { heardLog } from '../nodes/kit.ts';

interface Waiting extends RunPlace {
  readonly sink: string;
  fromSeq: number;
  toSeq: number;
  createdAt: number;
  nextAt: number;
  attempts: number;
}

/** An outbox in memory, with one entry a run and sink, and the events of any run that are asked for. */
export function memoryOutbox() {
  const clock = manualClock();
  const waiting = new Map<string, Waiting>();
  /** The last event that was ever added. */
  const added = new Map<string, number>();
  const postponed: number[] = [];
  const givenBack: number[] = [];
  const state = {
    failure: undefined as Error | undefined,
    takes: 0,
    /** What a look waits for before it answers. */
    gate: undefined as Promise<void> | undefined,
    /** How many of the first events of an entry are old enough to be given up; default: all of them. */
    old: Number.POSITIVE_INFINITY,
  };
  const find = ({ sink, runId }: OutboxEntry) => waiting.get(`${sink} ${runId}`);
  function removeUpTo({ sink, runId }: OutboxEntry, toSeq: number): boolean {
    const key = `${sink} ${runId}`;
    const left = waiting.get(key);
    if (left === undefined || left.toSeq <= toSeq) waiting.delete(key);
    else Object.assign(left, { fromSeq: toSeq + 1, attempts: 0, nextAt: clock.now() });
    return waiting.has(key);
  }
  const outbox: Outbox = {
    async take({ sink, limit, claimMs, room = () => limit }) {
      state.takes += 1;
      if (state.failure !== undefined) throw state.failure;
      const rooms = new Map<string, number>();
      const due: Waiting[] = [];
      for (const one of waiting.values()) {
        if (one.sink !== sink || one.nextAt > clock.now()) continue;
        const left = rooms.get(one.tenantId) ?? room(one.tenantId);
        rooms.set(one.tenantId, left - 1);
        if (left > 0 && due.length < limit) due.push(one);
      }
      const entries = due.map((one) => {
        one.attempts += 1;
        one.nextAt = clock.now() + claimMs;
        return { ...one, claim: 'claim', ageMs: clock.now() - one.createdAt };
      });
      await state.gate;
      return { entries, hasMore: false };
    },
    async done(entry) {
      return removeUpTo(entry, entry.toSeq);
    },
    async postpone(entry, delayMs) {
      postponed.push(delayMs);
      find(entry)!.nextAt = clock.now() + delayMs;
    },
    async giveBack(entry, delayMs) {
      givenBack.push(delayMs);
      const one = find(entry)!;
      one.nextAt = clock.now() + delayMs;
      one.attempts -= 1;
    },
    async giveUp(entry, olderThanMs) {
      if (clock.now() - find(entry)!.createdAt <= olderThanMs) return 0;
      const toSeq = Math.min(entry.toSeq, entry.fromSeq + state.old - 1);
      removeUpTo(entry, toSeq);
      return toSeq - entry.fromSeq + 1;
    },
    async forget({ olderThanMs, here }) {
      const forgotten = [...waiting].filter(
        ([, { sink, nextAt }]) => nextAt < clock.now() - olderThanMs && !here.includes(sink),
      );
      for (const [key] of forgotten) waiting.delete(key);
      return forgotten.map(([, { sink, fromSeq, toSeq }]) => ({ sink, events: toSeq - fromSeq + 1 }));
    },
  };
  const gone = new Set<string>();
  const queries: Pick<RunQueries, 'head' | 'events'> = {
    head: async ({ runId }) => (gone.has(runId) ? undefined : ({ definitionId: 'invoices' } as RunHead)),
    events: async ({ after = 0, limit }) => ({ events: eventsOf(after + 1, limit), total: 0 }),
  };
  return {
    clock,
    outbox,
    queries,
    postponed,
    givenBack,
    state,
    gone,
    waiting,
    /** Events of a run up to a number wait for these sinks now. */
    addFor(sinks: readonly string[], runId: string, toSeq: number, tenantId: string) {
      for (const sink of sinks) {
        const key = `${sink} ${runId}`;
        const known = waiting.get(key);
        if (known !== undefined) known.toSeq = toSeq;
        else {
          const [now, fromSeq] = [clock.now(), (added.get(key) ?? 0) + 1];
          waiting.set(key, {
            sink,
            tenantId,
            runId,
            fromSeq,
            toSeq,
            createdAt: now,
            nextAt: now,
            attempts: 0,
          });
        }
        added.set(key, toSeq);
      }
    },
  };
}

/** A sink that keeps what it gets. `answer` may fail it, or keep it waiting. */
export function keepingSink(
  name: string,
  answer: (events: readonly DeliveredEvent[], signal: AbortSignal) => Promise<void> | void = () => {},
) {
  const got: DeliveredEvent[] = [];
  const state = { calls: 0, wants: (_tenantId: string): boolean => true };
  const sink: EventSink = {
    name,
    wants: (tenantId) => state.wants(tenantId),
    async deliver(events, signal) {
      state.calls += 1;
      await answer(events, signal);
      got.push(...events);
    },
  };
  return { sink, got, state, seqs: () => got.map(({ seq }) => seq) };
}

/** A relay over an outbox in memory. */
export function relayOver(sinks: readonly EventSink[], deliveryMs = 5_000) {
  const memory = memoryOutbox();
  const { log, lines } = heardLog();
  const live = { sinks };
  const counted: unknown[][] = [];
  const relay = createRelay({
    outbox: memory.outbox,
    queries: memory.queries,
    clock: memory.clock,
    log,
    deliveryMs,
    sinks: () => live.sinks,
    metrics: {
      began: () => {},
      delivered: (sink, events) => void counted.push(['delivered', sink, events]),
      failed: (sink) => void counted.push(['failed', sink]),
      gaveUp: (sink, events) => void counted.push(['gave up', sink, events]),
    },
  });
  const end = new AbortController();
  return {
    ...memory,
    relay,
    lines,
    live,
    counted,
    end,
    /** Events of a run up to a number wait now, for those who want them. */
    add: (runId: string, toSeq: number, tenantId = 'tenant') =>
      memory.addFor(relay.sinksOf(tenantId), runId, toSeq, tenantId),
    /** Delivers what is due, until nothing is under way. */
    async round() {
      await relay.relay(end.signal);
      await relay.idle();
    },
  };
}
