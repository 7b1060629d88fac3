import test from 'ava';
import { SinkDispatcher } from '../../../../../plugins/workflow/services/delivery/sink-dispatcher.ts';
import type { OutboxEntry } from '../../../../../plugins/workflow/store/outbox.ts';
import { until } from '../../../../support/until.ts';

const entry = (runId: string, tenantId = 'tenant'): OutboxEntry => ({
  runId,
  tenantId,
  sink: 'hooks',
  claim: 'claim',
  fromSeq: 1,
  toSeq: 1,
  ageMs: 0,
  attempts: 1,
});
const failed = (error: unknown) => {
  throw error;
};

for (let microtasks = 0; microtasks < 10; microtasks += 1) {
  test(`what comes ${microtasks} microtasks after a look that found nothing is taken`, async (t) => {
    const { signal } = new AbortController();
    const rows: string[] = [];
    const got: string[] = [];
    let looks = 0;
    const commit = async (lane: SinkDispatcher) => {
      for (let turn = 0; turn < microtasks; turn += 1) await undefined;
      rows.push('run-1');
      await lane.dispatch(signal);
    };
    let committed: Promise<void> | undefined;
    const lane = new SinkDispatcher({
      async take() {
        looks += 1;
        const entries = rows.splice(0).map((runId) => entry(runId));
        if (looks === 1) committed = commit(lane);
        return { entries, hasMore: false };
      },
      share: () => 4,
      handle: async ({ runId }) => {
        got.push(runId);
        return false;
      },
      failed,
    });
    await lane.dispatch(signal);
    await committed;
    t.deepEqual(got, ['run-1']);
  });
}

test('a look that was not through is followed by another one', async (t) => {
  const left = [true, true, false];
  const lane = new SinkDispatcher({
    take: async () => ({ entries: [], hasMore: left.shift()! }),
    share: () => 4,
    handle: async () => false,
    failed,
  });
  await lane.dispatch(new AbortController().signal);
  t.deepEqual(left, []);
});

test('what a tenant has no room for follows when one of its deliveries ends, and no look when that cannot help', async (t) => {
  const ends: (() => void)[] = [];
  const waiting = Array.from({ length: 3 }, (_, index) => entry(`run-${index}`));
  let looks = 0;
  const lane = new SinkDispatcher({
    async take(limit, room) {
      looks += 1;
      const places = waiting.length === 0 ? 0 : Math.min(limit, room('tenant'));
      return { entries: waiting.splice(0, places), hasMore: false };
    },
    share: () => 1,
    handle: () => new Promise((resolve) => ends.push(() => resolve(false))),
    failed,
  });
  await lane.dispatch(new AbortController().signal);
  t.is(looks, 1);
  for (let delivery = 1; delivery <= 3; delivery += 1) {
    await until(() => ends.length === delivery);
    ends[delivery - 1]!();
  }
  await lane.idle();
  // The third one filled the room as well: whether it was the last one is seen after it.
  t.is(looks, 4);
});
