import { AsyncLocalStorage } from 'node:async_hooks';
import test, { type ExecutionContext } from 'ava';
import Type from 'typebox';
import { defineEvent, EventErrors } from '../../../../foundation/messages/events/events.ts';
import type { OpenEventsOptions } from '../../../../foundation/messages/events/open-events.ts';
import { until } from '../../../support/until.ts';
import { Counted, FORMS, type Form, Noted, numbersAt, PATIENCE, type Replica } from './events-kit.ts';

/** Defines one test for each form of events. */
function eachForm(
  title: string,
  run: (t: ExecutionContext, one: Replica, two: Replica, form: Form) => Promise<void>,
  limits?: OpenEventsOptions['limits'],
): void {
  for (const form of FORMS) {
    test(`${form.name}: ${title}`, async (t) => {
      const replicas = await form.open(t, limits);
      if (replicas !== undefined) await run(t, ...replicas, form);
    });
  }
}

const UPTO = (count: number) => Array.from({ length: count }, (_, n) => n);

eachForm('the form says how far events reach', async (t, one, _two, form) => {
  t.is(one.events.reach, form.name);
});

eachForm(
  'an event reaches every listener of every replica once, and says where it comes from',
  async (t, one, two) => {
    const heard: string[] = [];
    const isShared = one !== two;
    one.events.on(Noted, ({ text }, { origin }) => void heard.push(`one ${text} ${origin}`));
    one.events.on(Noted, ({ text }, { origin }) => void heard.push(`one again ${text} ${origin}`));
    if (isShared) two.events.on(Noted, ({ text }, { origin }) => void heard.push(`two ${text} ${origin}`));
    const done = numbersAt(two);
    one.events.emit(Noted, { text: 'hello' });
    // What comes later on the same way shows that nothing comes twice.
    one.events.emit(Counted, { n: 0 });
    await until(() => done.length === 1 && heard.length >= (isShared ? 3 : 2), PATIENCE);
    const expected = ['one again hello local', 'one hello local', ...(isShared ? ['two hello remote'] : [])];
    t.deepEqual(heard.toSorted(), expected);
  },
);

eachForm('events arrive in the order of their emission', async (t, one, two) => {
  const [here, there] = [numbersAt(one), numbersAt(two)];
  for (const n of UPTO(900)) one.events.emit(Counted, { n });
  await until(() => here.length === 900 && there.length === 900, PATIENCE);
  t.deepEqual(here, UPTO(900));
  t.deepEqual(there, UPTO(900));
});

eachForm('equal events are all delivered', async (t, one, two) => {
  const there = numbersAt(two);
  for (const _ of UPTO(50)) one.events.emit(Counted, { n: 7 });
  one.events.emit(Counted, { n: 8 });
  await until(() => there.includes(8), PATIENCE);
  t.is(there.length, 51);
});

eachForm('a listener does not run in the context of whoever emits', async (t, one, two) => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  for (const { events } of [one, two]) events.on(Counted, () => void seen.push(context.getStore()));
  one.events.on(Counted, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(context.getStore());
  });
  context.run('a transaction', () => one.events.emit(Counted, { n: 1 }));
  await until(() => seen.length === 3, PATIENCE);
  t.deepEqual(seen, [undefined, undefined, undefined]);
});

eachForm('emitting calls no listener before it returns', async (t, one) => {
  const here = numbersAt(one);
  one.events.emit(Counted, { n: 1 });
  t.deepEqual(here, []);
  await until(() => here.length === 1, PATIENCE);
});

eachForm('a payload of 7,000 bytes arrives as it was, one of 7,001 is refused', async (t, one, two) => {
  const heard: string[] = [];
  two.events.on(Noted, ({ text }) => void heard.push(text));
  const frame = JSON.stringify({ text: '' }).length;
  // Two bytes each, and characters that JSON, SQL or Redis could stumble over.
  const text = `"\\'$1 \u0000\n${'ü'.repeat(3_000)}`;
  const filled = text + 'x'.repeat(7_000 - Buffer.byteLength(JSON.stringify({ text })));
  one.events.emit(Noted, { text: filled });
  await until(() => heard.length === 1, PATIENCE);
  t.is(heard[0], filled);
  const error = t.throws(() => one.events.emit(Noted, { text: 'x'.repeat(7_001 - frame) }));
  t.like(error, { code: EventErrors.tooLarge.definition.code, kind: 'internal' });
  t.regex(error.message, /test\.noted has 7001 bytes/);
  t.throws(() => one.events.emit(Noted, { text: 'ü'.repeat(3_500) }), { message: /bytes/ });
});

eachForm(
  'a payload that does not fit is refused with the name of its member and without its value',
  async (t, one) => {
    const here = numbersAt(one);
    const bad = [{ n: 'secret-text' }, { n: Number.NaN }, {}, null, undefined, { n: 1n }, [1]];
    for (const payload of bad) {
      const error = t.throws(() => one.events.emit(Counted, payload as never));
      t.is((error as { code?: string }).code, EventErrors.unfit.definition.code);
      t.regex(error.message, /test\.counted/);
      t.notRegex(error.message, /secret-text/);
    }
    t.regex(t.throws(() => one.events.emit(Counted, { n: 'x' } as never)).message, /\/n /);
    one.events.emit(Counted, { n: 1 });
    await until(() => here.length === 1, PATIENCE);
  },
);

eachForm('a listener that throws is logged and disturbs no other', async (t, one, two) => {
  two.events.on(Counted, () => {
    throw new Error('thrown');
  });
  two.events.on(Counted, async () => {
    throw new Error('rejected');
  });
  const there = numbersAt(two);
  for (const n of UPTO(3)) one.events.emit(Counted, { n });
  await until(() => there.length === 3 && two.logged.length >= 2, PATIENCE);
  t.deepEqual(two.logged, ['a listener to an event failed', 'a listener to an event failed']);
});

eachForm(
  'a listener that was taken back hears nothing any more, not even what waits',
  async (t, one, two) => {
    const heard: number[] = [];
    const undo = two.events.on(Counted, ({ n }) => void heard.push(n));
    const there = numbersAt(two);
    one.events.emit(Counted, { n: 1 });
    await until(() => heard.length === 1 && there.length === 1, PATIENCE);
    undo();
    undo();
    one.events.emit(Counted, { n: 2 });
    await until(() => there.length === 2, PATIENCE);
    const own: number[] = [];
    const undoOwn = one.events.on(Counted, ({ n }) => void own.push(n));
    one.events.emit(Counted, { n: 3 });
    undoOwn();
    await until(() => there.length === 3, PATIENCE);
    t.deepEqual([heard, own], [[1], []]);
  },
);

eachForm(
  'a listener gets one event at a time, and cannot change what another one gets',
  async (t, one, two) => {
    let running = 0;
    let most = 0;
    two.events.on(Counted, async (payload) => {
      running += 1;
      most = Math.max(most, running);
      payload.n = -1;
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
    const there = numbersAt(two);
    const payload = { n: 0 };
    for (const n of UPTO(20)) {
      payload.n = n;
      one.events.emit(Counted, payload);
    }
    await until(() => there.length === 20 && running === 0, PATIENCE);
    t.deepEqual(there, UPTO(20));
    t.is(most, 1);
  },
);

eachForm(
  'a listener that falls behind loses the oldest events, which is told, and holds up no other',
  async (t, one, two) => {
    const gate = Promise.withResolvers<void>();
    const slow: number[] = [];
    two.events.on(Counted, async ({ n }) => {
      slow.push(n);
      await gate.promise;
    });
    const fast = numbersAt(two);
    const missedBefore = two.missed;
    one.events.emit(Counted, { n: 0 });
    await until(() => slow.length === 1, PATIENCE);
    for (const n of UPTO(25)) one.events.emit(Counted, { n: n + 1 });
    await until(() => fast.length >= 10 && two.dropped.backlog !== undefined, PATIENCE);
    await until(() => two.missed > missedBefore, PATIENCE);
    gate.resolve();
    await until(() => slow.length === 11, PATIENCE);
    t.deepEqual(slow, [0, ...UPTO(10).map((n) => n + 16)]);
    t.is(two.logged.filter((line) => line.startsWith('a listener is slower')).length > 0, true);
  },
  { backlog: 10 },
);

eachForm(
  'a listener that never ends gets the next event after its deadline',
  async (t, one, two) => {
    const heard: number[] = [];
    two.events.on(Counted, ({ n }) => {
      heard.push(n);
      return new Promise(() => undefined);
    });
    for (const n of UPTO(3)) one.events.emit(Counted, { n });
    await until(() => heard.length === 3, PATIENCE);
    t.deepEqual(heard, [0, 1, 2]);
    t.true(two.logged.includes('a listener to an event failed'));
  },
  { listenerDeadline: 20 },
);

eachForm('two schemas of one event: each listener gets what fits its own', async (t, one, two) => {
  const Newer = defineEvent('test.counted', Type.Object({ n: Type.Integer(), why: Type.String() }));
  const [older, newer]: unknown[][] = [[], []];
  two.events.on(Counted, (payload) => void older!.push(payload));
  two.events.on(Newer, (payload) => void newer!.push(payload));
  one.events.emit(Counted, { n: 1 });
  one.events.emit(Newer, { n: 2, why: 'because' });
  await until(() => older!.length === 2 && newer!.length === 1, PATIENCE);
  t.deepEqual(older, [{ n: 1 }, { n: 2, why: 'because' }]);
  t.deepEqual(newer, [{ n: 2, why: 'because' }]);
  t.is(two.dropped.unfit, 1);
  t.deepEqual(two.logged, ['an event from elsewhere does not fit its schema']);
});

eachForm('after close nothing is emitted and nobody is called', async (t, one, two) => {
  const [here, there] = [numbersAt(one), numbersAt(two)];
  one.events.emit(Counted, { n: 1 });
  await until(() => there.length === 1 && here.length === 1, PATIENCE);
  await Promise.all([one.events.close(), one.events.close()]);
  one.events.emit(Counted, { n: 2 });
  one.events.on(Counted, () => t.fail());
  if (one !== two) {
    two.events.emit(Counted, { n: 3 });
    await until(() => there.length === 2, PATIENCE);
    t.deepEqual(there, [1, 3]);
  }
  t.deepEqual(here, [1]);
});

for (const form of FORMS.filter(({ name }) => name !== 'process')) {
  test(`${form.name}: close sends what was emitted just before`, async (t) => {
    const replicas = await form.open(t, { closeDeadline: PATIENCE });
    if (replicas === undefined) return;
    const [one, two] = replicas;
    const there = numbersAt(two);
    for (const n of UPTO(800)) one.events.emit(Counted, { n });
    await one.events.close();
    await until(() => there.length === 800, PATIENCE);
    t.deepEqual(there, UPTO(800));
  });

  test(`${form.name}: a burst above the buffer loses the oldest events, and the other replicas are told`, async (t) => {
    const replicas = await form.open(t, { outgoing: 10 });
    if (replicas === undefined) return;
    const [one, two] = replicas;
    const there = numbersAt(two);
    const [missedHere, missedThere] = [one.missed, two.missed];
    for (const n of UPTO(30)) one.events.emit(Counted, { n });
    await until(() => there.at(-1) === 29 && two.missed > missedThere, PATIENCE);
    t.deepEqual(
      there,
      UPTO(10).map((n) => n + 20),
    );
    t.is(one.dropped.outgoing, 20);
    t.is(one.missed, missedHere);
  });

  test(`${form.name}: an event that nobody listens to costs nothing and breaks nothing`, async (t) => {
    const replicas = await form.open(t);
    if (replicas === undefined) return;
    const [one, two] = replicas;
    const there = numbersAt(two);
    for (const _ of UPTO(100)) one.events.emit(Noted, { text: 'unheard' });
    one.events.emit(Counted, { n: 1 });
    await until(() => there.length === 1, PATIENCE);
    t.deepEqual([two.dropped, two.logged], [{}, []]);
  });

  test(`${form.name}: the first connection is told as missed events, for what was sent before it`, async (t) => {
    const replicas = await form.open(t);
    if (replicas === undefined) return;
    await until(() => replicas.every(({ missed }) => missed === 1), PATIENCE);
    t.deepEqual(
      replicas.map(({ logged }) => logged),
      [[], []],
    );
  });
}
