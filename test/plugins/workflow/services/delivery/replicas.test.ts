import test from 'ava';
import type { DeliveredEvent } from '../../../../../plugins/workflow/contract/event-sinks.ts';
import { createRelay } from '../../../../../plugins/workflow/services/delivery/relay.ts';
import { createOutbox } from '../../../../../plugins/workflow/store/outbox.ts';
import { createRunQueries } from '../../../../../plugins/workflow/store/run-queries.ts';
import { createRunStore } from '../../../../../plugins/workflow/store/run-store.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { NO_METRICS } from '../../no-metrics.ts';
import { eventsOf, nextOf, runOf } from '../../store/states.ts';
import { storeKit } from '../../store/store-kit.ts';
import { heardLog } from '../nodes/kit.ts';

eachDatabase(
  test,
  'three replicas, whose sink fails at times, deliver the events of each run in order and lose none',
  async (t, fresh) => {
    const kit = await storeKit(t, fresh);
    const store = createRunStore(kit);
    const now = await kit.database.now();
    // Near the database's clock, as the clocks of replicas are: events are not three days old.
    const clock = { now: () => now, monotonic: kit.clock.monotonic };
    const got = new Map<string, DeliveredEvent[]>();
    const failed = new Set<string>();
    const sink = {
      name: 'hooks',
      wants: () => true,
      async deliver(events: readonly DeliveredEvent[]) {
        const { run_id, seq } = events.at(-1)!;
        // Once for each run, somewhere in the middle.
        if (seq > 3 && !failed.has(run_id)) {
          failed.add(run_id);
          throw new Error('away for a moment');
        }
        for (const event of events) got.set(event.run_id, [...(got.get(event.run_id) ?? []), event]);
      },
    };
    const relays = [1, 2, 3].map(() =>
      createRelay({
        outbox: createOutbox(kit),
        queries: createRunQueries(kit),
        clock,
        sinks: () => [sink],
        log: heardLog().log,
        metrics: NO_METRICS.relay,
      }),
    );
    const { signal } = new AbortController();
    let runs = Array.from({ length: 5 }, () => runOf({ seq: 1, updatedAt: now }));
    for (const state of runs) await store.create({ state, events: eventsOf(1, 1), sinks: ['hooks'] });
    for (let round = 0; round < 6; round += 1) {
      const asked = relays.map((relay) => relay.relay(signal));
      const next = runs.map((before) => nextOf(before, { seq: before.seq + 2 }));
      for (const [index, after] of next.entries()) {
        const before = runs[index]!;
        const events = eventsOf(before.seq + 1, 2);
        t.true(await store.commit({ before, after, events, sinks: ['hooks'] }));
      }
      runs = next;
      await Promise.all(asked);
    }
    // What failed waits for a second by the database's clock.
    await kit.eventually(async () => {
      await Promise.all(relays.map((relay) => relay.relay(signal)));
      return runs.every(({ id }) => got.get(id)?.at(-1)?.seq === 13);
    });
    await Promise.all(relays.map((relay) => relay.idle()));
    t.is(failed.size, runs.length);
    for (const { id } of runs) {
      t.deepEqual(
        got.get(id)?.map(({ seq }) => seq),
        Array.from({ length: 13 }, (_, index) => index + 1),
      );
    }
  },
);
