import test from 'ava';
import { createRecent } from '../../../../../plugins/records/services/recent/recent.ts';
import { manualClock } from '../../../../../testing/index.ts';

function open(max = 10) {
  const clock = manualClock();
  const loads: { key: string; resolve: (value: { n: number }) => void; reject: (error: Error) => void }[] =
    [];
  const recent = createRecent<{ n: number }>({
    load: (key) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ n: number }>();
      loads.push({ key, resolve, reject });
      return promise;
    },
    ...{ clock, max, maxAge: 1000, weigh: ({ n }) => n },
  });
  return { clock, loads, recent };
}

test('a value is at hand for its age, counted from the start of the load', async (t) => {
  const { clock, loads, recent } = open();
  const waiting = recent.get('a');
  clock.advance(400);
  t.is(recent.get('a') instanceof Promise, true);
  loads[0]!.resolve({ n: 1 });
  t.deepEqual(await waiting, { n: 1 });
  clock.advance(599);
  t.deepEqual(recent.get('a'), { n: 1 });
  clock.advance(1);
  t.true(recent.get('a') instanceof Promise);
  t.is(loads.length, 2);
});

test('readers of one key share a load, readers of others do not', async (t) => {
  const { loads, recent } = open();
  const all = [recent.get('a'), recent.get('a'), recent.get('b')];
  t.deepEqual(
    loads.map(({ key }) => key),
    ['a', 'b'],
  );
  for (const { resolve } of loads) resolve({ n: 1 });
  await Promise.all(all);
});

test('a load from before a forget is not kept', async (t) => {
  const { loads, recent } = open();
  const early = recent.get('a');
  recent.forget('a');
  const late = recent.get('a');
  t.is(loads.length, 2);
  loads[1]!.resolve({ n: 2 });
  await late;
  loads[0]!.resolve({ n: 1 });
  t.deepEqual(await early, { n: 1 });
  t.deepEqual(recent.get('a'), { n: 2 });
  recent.clear();
  t.true(recent.get('a') instanceof Promise);
});

test('a failed load is told and tried again', async (t) => {
  const { loads, recent } = open();
  const failing = recent.get('a');
  loads[0]!.reject(new Error('away'));
  await t.throwsAsync(async () => failing, { message: 'away' });
  const next = recent.get('a');
  loads[1]!.resolve({ n: 1 });
  t.deepEqual(await next, { n: 1 });
});

test('the number of values is bounded', async (t) => {
  const { loads, recent } = open(2);
  for (const key of ['a', 'b', 'c']) {
    const value = recent.get(key);
    loads.at(-1)!.resolve({ n: 1 });
    await value;
  }
  t.true(recent.get('a') instanceof Promise);
  t.false(recent.get('c') instanceof Promise);
});

test('long values leave room for fewer, and one that is too long is given but not kept', async (t) => {
  const { loads, recent } = open();
  const read = async (key: string, n: number) => {
    const value = recent.get(key);
    loads.at(-1)!.resolve({ n });
    return value;
  };
  await read('a', 10_000_000);
  await read('b', 5_000_000);
  t.false(recent.get('a') instanceof Promise);
  await read('c', 5_000_000);
  t.true(recent.get('b') instanceof Promise, 'the one that was not used for longest');
  t.deepEqual(await read('d', 20_000_000), { n: 20_000_000 });
  t.true(recent.get('d') instanceof Promise);
});
