import { manualClock } from '../../../../../kernel/testing/index.ts';
import type { RunPlace } from '../../../../../plugins/workflow/contract/engine.ts';
import type { DeliveredEvent, EventSink } from '../../../../../plugins/workflow/contract/event-sinks.ts';
import { createRelay } from '../../../../../plugins/workflow/services/delivery/relay.ts';
import type { Outbox, OutboxEntry } from '../../../../../plugins/workflow/services/ports/outbox.ts';
import type { RunHead, RunQueries } from '../../../../../plugins/workflow/services/ports/run-queries.ts';
import { eventsOf } from '../../store/states.ts';
import { heardLog } from '../nodes/kit.ts';

interface Waiting extends RunPlace {
  fromSeq: number;
  toSeq: number;
  createdAt: number;
  nextAt: number;
  attempts: number;
}

/** An outbox in memory, with one entry a run, and the events of any run that are asked for. */
export function memoryOutbox() {
  const clock = manualClock();
  const waiting = new Map<string, Waiting>();
  const postponed: number[] = [];
  const state = { failure: undefined as Error | undefined, takes: 0 };
  const outbox: Outbox = {
    async take({ limit, claimMs }) {
      state.takes += 1;
      if (state.failure !== undefined) throw state.failure;
      const due = [...waiting.values()].filter(({ nextAt }) => nextAt <= clock.now()).slice(0, limit);
      return due.map((one) => {
        one.attempts += 1;
        one.nextAt = clock.now() + claimMs;
        return { ...one, claim: 'claim' };
      });
    },
    async done(entries) {
      for (const { runId, toSeq } of entries) {
        const left = waiting.get(runId);
        if (left === undefined || left.toSeq <= toSeq) waiting.delete(runId);
        else Object.assign(left, { fromSeq: toSeq + 1, attempts: 0, nextAt: clock.now() });
      }
    },
    async postpone({ runId }: OutboxEntry, delayMs) {
      postponed.push(delayMs);
      waiting.get(runId)!.nextAt = clock.now() + delayMs;
    },
  };
  const gone = new Set<string>();
  const queries: Pick<RunQueries, 'head' | 'events'> = {
    head: async ({ runId }) => (gone.has(runId) ? undefined : ({ definitionId: 'invoices' } as RunHead)),
    events: async ({ after = 0, limit }) => ({ events: eventsOf(after + 1, limit), total: 0 }),
  };
  return {
    ...{ clock, outbox, queries, postponed, state, gone, waiting },
    /** Events of a run up to a number wait now. */
    add(runId: string, toSeq: number, tenantId = 'tenant') {
      const known = waiting.get(runId);
      if (known !== undefined) known.toSeq = toSeq;
      else {
        const now = clock.now();
        waiting.set(runId, {
          ...{ tenantId, runId, fromSeq: 1, toSeq, createdAt: now, nextAt: now, attempts: 0 },
        });
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
  const counted: unknown[] = [];
  const relay = createRelay({
    ...{ outbox: memory.outbox, queries: memory.queries, clock: memory.clock, log, deliveryMs },
    sinks: () => live.sinks,
    observer: {
      delivered: (sink, events) => void counted.push(['delivered', sink, events]),
      failed: (sink) => void counted.push(['failed', sink]),
      gaveUp: (events) => void counted.push(['gave up', events]),
    },
  });
  const end = new AbortController();
  return {
    ...{ ...memory, relay, lines, live, counted, end },
    /** Delivers what is due, until nothing is under way. */
    async round() {
      await relay.relay(end.signal);
      await relay.idle();
    },
  };
}
