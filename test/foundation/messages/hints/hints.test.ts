import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import Type from 'typebox';
import { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import { defineHint, type HintContext, type HintRef } from '../../../../foundation/messages/hints/hints.ts';
import { settled, until } from '../../../support/until.ts';
import { eachForm, PATIENCE_MS, Steps, send, sendMany } from './hint-forms.ts';

/** A handler that ends when it is told to. */
function gate() {
  const begun: number[] = [];
  const signals: AbortSignal[] = [];
  const open = Promise.withResolvers<void>();
  return {
    begun,
    signals,
    open: () => open.resolve(),
    handle: async ({ n }: { n: number }, { signal }: HintContext) => {
      begun.push(n);
      signals.push(signal);
      await open.promise;
    },
  };
}

const eventually = (condition: () => boolean | Promise<boolean>) => until(condition, PATIENCE_MS);

eachForm(test, 'a message reaches the consumer with its id and payload', async (t, place) => {
  const { queue, counts } = await place.open();
  t.is(queue.form, place.form);
  t.true(queue.delivers);
  const got: unknown[] = [];
  queue.listen(Steps, async (payload, { id }) => {
    got.push({ id, payload });
  });
  await send(queue, { n: 1 }, { id: 'run-1.step_2' });
  await eventually(() => counts.includes('delivered workflow.steps ok'));
  t.deepEqual(got, [{ id: 'run-1.step_2', payload: { n: 1 } }]);
  t.true(counts.includes('published workflow.steps ok'));
});

eachForm(test, 'a message without an id is named by a UUID', async (t, place) => {
  const { queue } = await place.open();
  const ids: string[] = [];
  queue.listen(Steps, async (_, { id }) => void ids.push(id));
  await eventually(() => queue.send(Steps, { n: 1 }));
  await eventually(() => queue.send(Steps, { n: 1 }));
  await eventually(() => ids.length >= 2);
  for (const id of ids) t.regex(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.not(ids[0], ids[1]);
});

eachForm(
  test,
  'messages that were published before a consumer came are delivered in order',
  async (t, place) => {
    const { queue } = await place.open();
    for (let n = 0; n < 20; n += 1) await send(queue, { n });
    const got: number[] = [];
    queue.listen(Steps, async ({ n }) => void got.push(n), { concurrency: 1 });
    await eventually(() => got.length === 20);
    t.deepEqual(got, [...Array(20).keys()]);
  },
);

eachForm(test, 'messages of one id are one delivery while the first waits', async (t, place) => {
  const { queue } = await place.open();
  await send(queue, { n: 1 }, { id: 'same' });
  await send(queue, { n: 2 }, { id: 'same' });
  await send(queue, { n: 3 }, { id: 'other' });
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await eventually(() => got.includes(3));
  await settled(() => got.length);
  t.deepEqual(got.sort(), [1, 3]);
});

eachForm(test, 'a message whose namesake is in hand is delivered as well', async (t, place) => {
  const { queue } = await place.open();
  const { begun, handle, open } = gate();
  queue.listen(Steps, handle);
  await send(queue, { n: 1 }, { id: 'same' });
  await eventually(() => begun.length === 1);
  await send(queue, { n: 2 }, { id: 'same' });
  await send(queue, { n: 3 }, { id: 'apart' });
  await eventually(() => begun.includes(3));
  open();
  await eventually(() => begun.includes(2));
  t.is(begun.length, 3);
});

eachForm(test, 'a delayed message comes when it is due, and not before', async (t, place) => {
  const { queue } = await place.open();
  const got: { n: number; at: number }[] = [];
  queue.listen(Steps, async ({ n }) => void got.push({ n, at: performance.now() }));
  const began = performance.now();
  await send(queue, { n: 1 }, { delay: 700 });
  await send(queue, { n: 2 });
  await eventually(() => got.length === 2);
  t.deepEqual(
    got.map(({ n }) => n),
    [2, 1],
  );
  t.true((got[1]?.at ?? 0) - began >= 690, `${(got[1]?.at ?? 0) - began} ms`);
  t.true((got[1]?.at ?? 0) - began < 6_000, 'long before the next look');
});

eachForm(test, 'no more than `concurrency` messages are in hand', async (t, place) => {
  const { queue } = await place.open();
  let inHand = 0;
  let most = 0;
  let done = 0;
  queue.listen(
    Steps,
    async () => {
      inHand += 1;
      most = Math.max(most, inHand);
      await pause(5);
      inHand -= 1;
      done += 1;
    },
    { concurrency: 3 },
  );
  await sendMany(queue, 40);
  await eventually(() => done === 40);
  t.is(most, 3);
});

eachForm(test, 'a delivery is aborted at its deadline', async (t, place) => {
  const { queue, counts, lines } = await place.open();
  queue.listen(
    Steps,
    async (_, { signal }) => {
      await pause(PATIENCE_MS, undefined, { signal });
    },
    { timeout: 50 },
  );
  await send(queue, { n: 1 });
  await eventually(() => counts.includes('delivered workflow.steps timeout'));
  t.true(lines.some(({ result, queue: id }) => result === 'timeout' && id === 'workflow.steps'));
});

eachForm(test, 'a handler that ignores its deadline loses its place', async (t, place) => {
  const { queue, counts, lines } = await place.open();
  const never = gate();
  t.teardown(never.open);
  queue.listen(Steps, never.handle, { timeout: 20, concurrency: 1 });
  await send(queue, { n: 1 });
  await send(queue, { n: 2 });
  await eventually(() => never.begun.length === 2);
  t.true(never.signals[0]?.aborted);
  t.true(counts.includes('delivered workflow.steps timeout'));
  t.true(lines.some(({ level, msg }) => level === 50 && msg.includes('goes on')));
});

eachForm(test, 'a failing handler is logged and counted, and hinders nobody', async (t, place) => {
  const { queue, counts, lines } = await place.open();
  let calls = 0;
  queue.listen(Steps, ({ n }) => {
    calls += 1;
    // Thrown before there is a promise.
    if (n === 1) throw new Error('no luck');
    return n === 2 ? Promise.reject(new Error('no luck either')) : Promise.resolve();
  });
  for (const n of [1, 2, 3]) await send(queue, { n });
  await eventually(() => counts.includes('delivered workflow.steps ok'));
  await eventually(() => counts.filter((count) => count === 'delivered workflow.steps failed').length === 2);
  await settled(() => calls);
  t.is(calls, 3, 'a failed message does not come again');
  const failure = lines.find(({ msg }) => msg === 'a queue handler failed');
  t.is(failure.queue, 'workflow.steps');
  t.is(typeof failure.message_id, 'string');
});

eachForm(
  test,
  'a message that does not fit the schema of the consumer is dropped and counted',
  async (t, place) => {
    const { queue, counts, lines } = await place.open();
    const other = defineHint(Steps.id, Type.Object({ n: Type.String() }));
    await queue.send(other, { n: 'from another version' });
    await send(queue, { n: 5 });
    const got: number[] = [];
    queue.listen(Steps, async ({ n }) => void got.push(n));
    await eventually(() => got.length === 1);
    await eventually(() => counts.includes('delivered workflow.steps invalid'));
    t.deepEqual(got, [5]);
    const dropped = lines.find(({ msg }) => msg.includes('dropped'));
    t.regex(dropped.err.message, /\/n/);
    t.false(JSON.stringify(lines).includes('from another version'), 'payloads are not logged');
  },
);

eachForm(test, 'stopping waits for what is in hand', async (t, place) => {
  const { queue } = await place.open();
  const { begun, signals, handle, open } = gate();
  const consumer = queue.listen(Steps, handle);
  await send(queue, { n: 1 });
  await eventually(() => begun.length === 1);
  let isStopped = false;
  const stopping = consumer.stop(PATIENCE_MS).then(() => {
    isStopped = true;
  });
  await send(queue, { n: 2 });
  await settled(() => begun.length);
  t.false(isStopped);
  t.deepEqual(begun, [1], 'a stopping consumer takes nothing new');
  open();
  await stopping;
  t.false(signals[0]?.aborted);
});

eachForm(test, 'stopping aborts what is not done in time', async (t, place) => {
  const { queue, counts } = await place.open();
  const never = gate();
  t.teardown(never.open);
  let aborted = 0;
  const consumer = queue.listen(Steps, async (payload, context) => {
    if (payload.n === 2) return never.handle(payload, context);
    await pause(PATIENCE_MS, undefined, { signal: context.signal }).catch((error) => {
      aborted += 1;
      throw error;
    });
  });
  await send(queue, { n: 1 });
  await send(queue, { n: 2 });
  await eventually(() => never.begun.length === 1);
  const began = performance.now();
  await consumer.stop(50);
  t.true(performance.now() - began < 8_000);
  t.is(aborted, 1);
  t.true(never.signals[0]?.aborted);
  t.is(counts.filter((count) => count === 'delivered workflow.steps stopped').length, 2);
});

eachForm(test, 'what a stopped consumer did not begin goes to the next one', async (t, place) => {
  const { queue } = await place.open();
  const old = gate();
  const consumer = queue.listen(Steps, old.handle, { concurrency: 2 });
  for (let n = 0; n < 10; n += 1) await send(queue, { n });
  await eventually(() => old.begun.length === 2);
  const stopping = consumer.stop(PATIENCE_MS);
  const got: number[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(n));
  await eventually(() => got.length === 8);
  old.open();
  await stopping;
  await settled(() => got.length);
  t.deepEqual([...old.begun, ...got].sort(), [...Array(10).keys()]);
});

eachForm(test, 'nothing is lost while generations of a consumer take turns under load', async (t, place) => {
  const { queue } = await place.open();
  const seen = new Map<number, number>();
  const start = () =>
    queue.listen(Steps, async ({ n }) => {
      await pause(1);
      seen.set(n, (seen.get(n) ?? 0) + 1);
    });
  let consumer = start();
  let sent = 0;
  const publishing = (async () => {
    for (; sent < 300; sent += 1) await send(queue, { n: sent });
  })();
  for (let generation = 0; generation < 5; generation += 1) {
    await eventually(() => seen.size >= generation * 40);
    const old = consumer;
    const isOverlapping = generation % 2 === 0;
    if (isOverlapping) consumer = start();
    await old.stop(PATIENCE_MS);
    if (!isOverlapping) consumer = start();
  }
  await publishing;
  await eventually(() => seen.size === 300);
  t.true([...seen.values()].every((times) => times === 1));
});

eachForm(test, 'two consumers of one queue share its messages', async (t, place) => {
  const { queue } = await place.open();
  const counts = [0, 0];
  const seen = new Set<number>();
  for (const index of [0, 1]) {
    queue.listen(
      Steps,
      async ({ n }) => {
        counts[index] = (counts[index] ?? 0) + 1;
        seen.add(n);
        await pause(2);
      },
      { concurrency: 2 },
    );
  }
  await sendMany(queue, 100);
  await eventually(() => seen.size === 100);
  t.is((counts[0] ?? 0) + (counts[1] ?? 0), 100);
  t.true(
    counts.every((count) => count > 5),
    `${counts}`,
  );
});

eachForm(
  test,
  'replicas share the messages, and each comes once',
  async (t, place) => {
    const replicas = [await place.open(), await place.open()];
    const by = [0, 0];
    const seen: number[] = [];
    for (const [index, { queue }] of replicas.entries()) {
      queue.listen(
        Steps,
        async ({ n }) => {
          by[index] = (by[index] ?? 0) + 1;
          seen.push(n);
          await pause(3);
        },
        { concurrency: 2 },
      );
    }
    const { queue: publisher } = await place.open();
    await sendMany(publisher, 200);
    await eventually(() => seen.length >= 200);
    await settled(() => seen.length);
    t.is(new Set(seen).size, 200);
    t.is(seen.length, 200);
    t.true(
      by.every((count) => count > 10),
      `${by}`,
    );
  },
  ['redis', 'postgres'],
);

eachForm(
  test,
  'messages wait for a consumer when the replica that sent them is gone',
  async (t, place) => {
    const first = await place.open();
    await send(first.queue, { n: 1 });
    await send(first.queue, { n: 2 }, { delay: 300 });
    await first.queue.close();
    const { queue } = await place.open();
    const got: number[] = [];
    queue.listen(Steps, async ({ n }) => void got.push(n));
    await eventually(() => got.length === 2);
    t.deepEqual(got, [1, 2]);
  },
  ['redis', 'postgres'],
);

eachForm(test, 'queues do not mix', async (t, place) => {
  const { queue } = await place.open();
  const other = defineHint('workflow.steps-2', Type.Object({ n: Type.Integer() }));
  const got: string[] = [];
  queue.listen(Steps, async ({ n }) => void got.push(`steps ${n}`));
  queue.listen(other, async ({ n }) => void got.push(`other ${n}`));
  await send(queue, { n: 1 }, { id: 'same' });
  await queue.send(other, { n: 2 }, { id: 'same' });
  await eventually(() => got.length === 2);
  t.deepEqual(got.sort(), ['other 2', 'steps 1']);
});

eachForm(test, 'a handler does not run in the context of the publisher', async (t, place) => {
  const { queue } = await place.open();
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  context.run('plugin', () => {
    queue.listen(Steps, async () => void seen.push(context.getStore()));
  });
  // A consumer that waits is woken by the publisher.
  await pause(50);
  await context.run('request', () => send(queue, { n: 1 }));
  await eventually(() => seen.length === 1);
  t.deepEqual(seen, ['plugin']);
});

eachForm(test, 'a full queue answers false, and true again when there is room', async (t, place) => {
  const { queue, counts } = await place.open();
  const full = 'published workflow.steps full';
  const began = performance.now();
  while (!counts.includes(full) && counts.length < 15_000 && performance.now() - began < 60_000) {
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => queue.send(Steps, { n }, { delay: n === 0 ? 60_000 : 0 })),
    );
  }
  t.true(counts.includes(full), `${counts.length} were published`);
  const sent = counts.filter((count) => count !== full).length;
  t.true(sent >= 10_000 && sent < 11_500, `${sent} were taken`);
  let got = 0;
  queue.listen(
    Steps,
    async () => {
      got += 1;
    },
    { concurrency: 100 },
  );
  await until(() => got >= 2_000, 60_000);
  await eventually(() => queue.send(Steps, { n: 0 }));
});

eachForm(test, 'what is published badly is refused by name', async (t, place) => {
  const { queue } = await place.open();
  const refused = async (code: string, work: () => Promise<unknown>, hint: RegExp) => {
    const error = await t.throwsAsync(work, { instanceOf: GatewayError });
    t.is(error?.code, code);
    t.regex(error?.message ?? '', hint);
  };
  const wrong = Steps as unknown as HintRef<{ n: string }>;
  await refused('queue.payload-invalid', () => queue.send(wrong, { n: 'secret' }), /\/n (?!.*secret)/);
  const Text = defineHint('test.text', Type.Object({ text: Type.String() }));
  const fits = 'ä'.repeat((16 * 1024 - '{"text":""}'.length - 1) / 2);
  t.true(await queue.send(Text, { text: fits }));
  await refused('queue.payload-too-large', () => queue.send(Text, { text: `${fits}ä` }), /16384 bytes/);
  for (const id of ['', 'a:b', 'a b', 'ä', 'x'.repeat(129)]) {
    await refused('queue.id-invalid', () => queue.send(Steps, { n: 1 }, { id }), /^id:/);
  }
  for (const delay of [-1, 0.5, Number.NaN, 24 * 3_600_000 + 1]) {
    await refused('queue.option-invalid', () => queue.send(Steps, { n: 1 }, { delay }), /^delay:/);
  }
});

eachForm(test, 'a consumer with options out of bounds is refused', async (t, place) => {
  const { queue } = await place.open();
  for (const options of [{ concurrency: 0 }, { concurrency: 1001 }, { concurrency: 1.5 }, { timeout: 0 }]) {
    const error = t.throws(() => queue.listen(Steps, async () => {}, options), { instanceOf: GatewayError });
    t.is(error?.code, 'queue.option-invalid');
    t.regex(error?.message ?? '', new RegExp(`^${Object.keys(options)[0]}:`));
  }
});

eachForm(test, 'the longest and the greatest are carried whole', async (t, place) => {
  const { queue } = await place.open();
  const Text = defineHint('test.text', Type.Object({ text: Type.String() }));
  const text = `"\\\u0000\u2028💡${'x'.repeat(16_000)}`;
  const id = 'x'.repeat(128);
  let got: unknown;
  queue.listen(Text, async (payload, context) => {
    got = { id: context.id, text: payload.text };
  });
  await queue.send(Text, { text }, { id });
  await eventually(() => got !== undefined);
  t.deepEqual(got, { id, text });
});

eachForm(test, 'a closed queue takes nothing, aborts what goes on, and closes once', async (t, place) => {
  const { queue, counts } = await place.open();
  const { begun, handle, open } = gate();
  queue.listen(Steps, handle);
  await send(queue, { n: 1 });
  await eventually(() => begun.length === 1);
  const closing = queue.close();
  t.is(queue.close(), closing);
  t.false(await queue.send(Steps, { n: 2 }));
  t.is(
    t.throws(() => queue.listen(Steps, async () => {}), { instanceOf: GatewayError })?.code,
    'queue.closed',
  );
  open();
  await closing;
  t.true(counts.includes('delivered workflow.steps ok'));
});
