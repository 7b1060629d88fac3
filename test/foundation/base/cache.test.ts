import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import { createSharedCache, type SharedCacheOptions } from '../../../foundation/base/cache.ts';
import { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

interface Row {
  readonly version: number;
}

/** A cache before a database whose answers the test gives by hand. */
function setUp(options: Partial<SharedCacheOptions<Row | undefined>> = {}) {
  const clock = manualClock();
  const loads: { key: string; resolve: (row?: Row) => void; reject: (error: Error) => void }[] = [];
  const cache = createSharedCache<Row | undefined>({
    load: (key) => new Promise((resolve, reject) => loads.push({ key, resolve, reject })),
    clock,
    maxAge: 1000,
    maxEntries: 3,
    ...options,
  });
  return { cache, clock, loads };
}

test('a record is loaded once, then given without a promise until it is a second old', async (t) => {
  const { cache, clock, loads } = setUp();
  const first = cache.get('a');
  loads[0]?.resolve({ version: 1 });
  t.deepEqual(await first, { version: 1 });
  clock.advance(999);
  t.deepEqual(cache.get('a'), { version: 1 });
  clock.advance(1);
  t.true(cache.get('a') instanceof Promise);
  t.is(loads.length, 2);
});

test('the age of a record counts from the start of its load', async (t) => {
  const { cache, clock, loads } = setUp();
  const first = cache.get('a');
  clock.advance(900);
  loads[0]?.resolve({ version: 1 });
  await first;
  t.deepEqual(cache.get('a'), { version: 1 });
  clock.advance(100);
  t.true(cache.get('a') instanceof Promise);
});

test('lookups at one time share a load, but not one that began a second ago', (t) => {
  const { cache, clock, loads } = setUp();
  const first = cache.get('a');
  clock.advance(999);
  t.is(cache.get('a'), first);
  clock.advance(1);
  t.not(cache.get('a'), first);
  t.is(loads.length, 2);
});

test('a load that began before a forget is neither kept nor shared with later lookups', async (t) => {
  for (const forget of ['forget', 'forgetWhere', 'clear'] as const) {
    const { cache, loads } = setUp();
    const before = cache.get('a');
    if (forget === 'forget') cache.forget('a');
    else if (forget === 'forgetWhere') cache.forgetWhere(() => true);
    else cache.clear();
    const after = cache.get('a');
    t.is(loads.length, 2, forget);
    loads[1]?.resolve({ version: 2 });
    t.deepEqual(await after, { version: 2 }, forget);
    loads[0]?.resolve({ version: 1 });
    t.deepEqual(await before, { version: 1 }, forget);
    t.deepEqual(cache.get('a'), { version: 2 }, forget);
  }
});

test('the old load may end first, and still is not kept', async (t) => {
  const { cache, loads } = setUp();
  const before = cache.get('a');
  cache.forget('a');
  loads[0]?.resolve({ version: 1 });
  await before;
  t.true(cache.get('a') instanceof Promise);
});

test('a record of which a second look finds nothing is not used any more', async (t) => {
  const { cache, clock, loads } = setUp({ refreshAfter: 500 });
  const first = cache.get('a');
  loads[0]?.resolve({ version: 1 });
  await first;
  clock.advance(500);
  t.deepEqual(cache.get('a'), { version: 1 }, 'while it is read again');
  loads[1]?.resolve(undefined);
  await new Promise(setImmediate);
  t.is(cache.get('a'), undefined);
  t.is(loads.length, 2);
});

test('that there is no record is remembered, apart from the records', async (t) => {
  const { cache, clock, loads } = setUp();
  const real = cache.get('real');
  loads[0]?.resolve({ version: 1 });
  await real;
  for (let index = 1; index <= 10; index += 1) {
    const made = cache.get(`made-up-${index}`);
    loads[index]?.resolve(undefined);
    await made;
  }
  t.is(cache.get('made-up-10'), undefined);
  t.true(cache.get('made-up-1') instanceof Promise);
  t.deepEqual(cache.get('real'), { version: 1 });
  clock.advance(1000);
  t.true(cache.get('made-up-10') instanceof Promise);
});

test('forget also drops that there was no record', async (t) => {
  const { cache, loads } = setUp();
  const missing = cache.get('a');
  loads[0]?.resolve(undefined);
  await missing;
  cache.forget('a');
  t.true(cache.get('a') instanceof Promise);
});

test('forgetWhere keeps what does not match', async (t) => {
  const { cache, loads } = setUp();
  const both = [cache.get('a'), cache.get('b')];
  loads[0]?.resolve({ version: 1 });
  loads[1]?.resolve({ version: 2 });
  await Promise.all(both);
  cache.forgetWhere((row) => row.version === 1);
  t.deepEqual(cache.get('b'), { version: 2 });
  t.true(cache.get('a') instanceof Promise);
});

test('a failed load fails those who shared it and is not remembered', async (t) => {
  const { cache, loads } = setUp();
  const first = cache.get('a');
  const second = cache.get('a');
  loads[0]?.reject(new Error('away'));
  await t.throwsAsync(async () => first, { message: 'away' });
  await t.throwsAsync(async () => second, { message: 'away' });
  t.true(cache.get('a') instanceof Promise);
  t.is(loads.length, 2);
});

test('no more records are kept than the bound', async (t) => {
  const { cache, loads } = setUp();
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) {
    const row = cache.get(key);
    loads[index]?.resolve({ version: index });
    await row;
  }
  t.true(cache.get('a') instanceof Promise);
  t.deepEqual(cache.get('d'), { version: 3 });
});

test('long values leave room for fewer, and one that is too long is given but not kept', async (t) => {
  const { cache, loads } = setUp({ weigh: ({ version }) => version });
  const read = async (key: string, version: number) => {
    const row = cache.get(key);
    loads.at(-1)!.resolve({ version });
    return row;
  };
  await read('a', 10_000_000);
  await read('b', 5_000_000);
  t.false(cache.get('a') instanceof Promise);
  await read('c', 5_000_000);
  t.true(cache.get('b') instanceof Promise, 'the one that was not used for longest');
  t.deepEqual(await read('d', 20_000_000), { version: 20_000_000 });
  t.true(cache.get('d') instanceof Promise);
});

test('a value that cannot be weighed fails the lookup, and the next one loads again', async (t) => {
  const { cache, loads } = setUp({ weigh: ({ version }) => version });
  const row = cache.get('a');
  loads[0]!.resolve({ version: Number.NaN });
  await t.throwsAsync(async () => row, { instanceOf: TypeError });
  const next = cache.get('a');
  loads[1]!.resolve({ version: 1 });
  t.deepEqual(await next, { version: 1 });
});

test('a lookup that fails when nobody waits for it any more troubles nobody', async (t) => {
  const { cache, loads } = setUp();
  cache.get('a');
  loads[0]!.reject(new Error('away'));
  await turn();
  const row = cache.get('a');
  t.is(loads.length, 2);
  loads[1]!.resolve({ version: 1 });
  t.deepEqual(await row, { version: 1 });
});

test('above the bound of loads a lookup fails at once, also when the waiting ones were forgotten', async (t) => {
  const { cache, loads } = setUp({ maxLoads: 2 });
  const waiting = [cache.get('a'), cache.get('b')];
  cache.clear();
  const error = await t.throwsAsync(async () => cache.get('c'), { instanceOf: GatewayError });
  t.is(error?.code, 'lookup.unavailable');
  t.is(error?.extras.headers?.['retry-after'], '1');
  for (const load of loads) load.resolve({ version: 1 });
  await Promise.all(waiting);
  t.true(cache.get('c') instanceof Promise);
});

test('a database that does not answer costs a lookup its deadline, not forever', async (t) => {
  const { cache, loads } = setUp({ deadline: 20 });
  await t.throwsAsync(async () => cache.get('a'), { code: 'lookup.unavailable' });
  t.true(cache.get('a') instanceof Promise);
  t.is(loads.length, 2);
  for (const load of loads) load.resolve(undefined);
});

test('whatever happens in which order, no lookup sees a version older than the last forget or by more than a second', async (t) => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('get' as const) }),
    fc.record({ do: fc.constant('write' as const), tell: fc.boolean() }),
    fc.record({ do: fc.constant('answer' as const), which: fc.nat(3) }),
    fc.record({ do: fc.constant('advance' as const), by: fc.integer({ min: 1, max: 700 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = manualClock();
      const history = [{ version: 0, at: Number.NEGATIVE_INFINITY, told: true }];
      const waiting: (() => void)[] = [];
      const checks: Promise<void>[] = [];
      const current = () => history.at(-1)?.version ?? 0;
      const cache = createSharedCache<Row | undefined>({
        // The read happens when the load starts; its answer travels as long as the schedule says.
        load: () => {
          const row = { version: current() };
          return new Promise((resolve) => waiting.push(() => resolve(row)));
        },
        clock,
        maxAge: 1000,
        maxEntries: 10,
      });
      for (const act of steps) {
        if (act.do === 'advance') clock.advance(act.by);
        if (act.do === 'answer') waiting.splice(act.which % Math.max(1, waiting.length), 1)[0]?.();
        if (act.do === 'write') {
          history.push({ version: current() + 1, at: clock.monotonic(), told: act.tell });
          if (act.tell) cache.forget('a');
        }
        if (act.do === 'get') {
          const now = clock.monotonic();
          const due = Math.max(...history.filter((w) => w.told || now - w.at >= 1000).map((w) => w.version));
          const check = Promise.resolve(cache.get('a')).then((row) => {
            t.true((row?.version ?? -1) >= due, `saw ${row?.version}, at least ${due} was due`);
          });
          checks.push(check);
        }
        await Promise.resolve();
        await Promise.resolve();
      }
      for (const answer of waiting) answer();
      await Promise.all(checks);
    }),
    { numRuns: 300 },
  );
  t.pass();
});
