import test from 'ava';
import { eventsOf } from '../../../../../plugins/agent-engine/services/loop/events.ts';

const never = new AbortController().signal;

test('work goes no faster than its reader', async (t) => {
  let made = 0;
  const events = eventsOf<number>(never, async (emit) => {
    for (let n = 1; n <= 5; n += 1) {
      made = n;
      await emit(n);
    }
  });
  t.is(made, 0);
  t.is((await events.next()).value, 1);
  await new Promise((resolve) => setImmediate(resolve));
  t.true(made <= 2);
  await events.return();
});

test('the reader gets all events, then what the work throws', async (t) => {
  const seen: number[] = [];
  const events = eventsOf<number>(never, async (emit) => {
    await Promise.all([emit(1), emit(2)]);
    throw new Error('broken');
  });
  await t.throwsAsync(
    async () => {
      for await (const event of events) seen.push(event);
    },
    { message: 'broken' },
  );
  t.deepEqual(seen, [1, 2]);
});

test('when the reader leaves, the work is ended and waited for', async (t) => {
  let isOver = false;
  const events = eventsOf<number>(never, async (emit, signal) => {
    try {
      await emit(1);
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    } finally {
      await new Promise((resolve) => setImmediate(resolve));
      isOver = true;
    }
  });
  for await (const _ of events) break;
  t.true(isOver);
});

test('work that emits without being read ends with the caller’s signal', async (t) => {
  const caller = new AbortController();
  const events = eventsOf<number>(caller.signal, async (emit) => {
    await emit(1);
    await emit(2);
  });
  await events.next();
  const reason = new Error('gone');
  caller.abort(reason);
  await t.throwsAsync(events.next(), { is: reason });
});
