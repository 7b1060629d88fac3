import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as settled } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import { DatabaseClock } from '../../../foundation/data/database-clock.ts';

/** A database whose clock is `ahead` of ours, and that takes its time to answer. */
function setUp() {
  const world = { now: 0, ahead: 1_000_000, there: 0, back: 0, isAway: false, asked: 0 };
  const ask = async () => {
    world.asked += 1;
    if (world.isAway) throw new Error('away');
    world.now += world.there;
    const answer = world.now + world.ahead;
    world.now += world.back;
    return answer;
  };
  const clock = new DatabaseClock(ask, { monotonic: () => world.now });
  return { world, clock };
}

test('between answers it goes on with the monotonic clock', async (t) => {
  const { world, clock } = setUp();
  t.throws(() => clock.now(), { message: /never asked/ });
  await clock.renew();
  world.now += 1_234.5;
  t.is(clock.now(), 1_001_234);
});

test('a slow answer does not move it, a clock that was set does', async (t) => {
  const { world, clock } = setUp();
  await clock.renew();
  world.there = 0;
  world.back = 3_000;
  await clock.renew();
  t.is(clock.now(), world.now + world.ahead);
  world.back = 0;
  world.ahead += 60_000;
  await clock.renew();
  t.is(clock.now(), world.now + world.ahead);
  world.ahead -= 120_000;
  await clock.renew();
  t.is(clock.now(), world.now + world.ahead);
});

test('an error keeps the estimate', async (t) => {
  const { world, clock } = setUp();
  await clock.renew();
  world.isAway = true;
  await t.throwsAsync(clock.renew(), { message: 'away' });
  t.is(clock.now(), world.ahead);
});

test('it is never wrong by more than the fastest answer allows', async (t) => {
  const time = fc.integer({ min: 0, max: 500 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(time, time), { minLength: 1, maxLength: 20 }), async (answers) => {
      const { world, clock } = setUp();
      let fastest = Number.POSITIVE_INFINITY;
      for (const [there, back] of answers) {
        Object.assign(world, { there, back });
        fastest = Math.min(fastest, there + back);
        await clock.renew();
      }
      const error = Math.abs(clock.now() - (world.now + world.ahead));
      if (error > fastest + 1) throw new Error(`wrong by ${error}, fastest answer ${fastest}`);
    }),
  );
  t.pass();
});

test('who reads an old estimate has it renewed for the next one, and only once at a time', async (t) => {
  const { world, clock } = setUp();
  await clock.renew();
  world.ahead += 60_000;
  world.now += 4_999;
  t.is(clock.now(), 1_004_999);
  t.is(world.asked, 1);
  world.now += 1;
  t.is(clock.now(), 1_005_000);
  t.is(clock.now(), 1_005_000);
  await settled();
  t.is(world.asked, 2);
  t.is(clock.now(), 1_065_000);
});

test('without an answer the estimate goes on, and the question is repeated some seconds later', async (t) => {
  const { world, clock } = setUp();
  await clock.renew();
  world.isAway = true;
  for (const asked of [2, 3]) {
    world.now += 5_000;
    t.is(clock.now(), world.now + 1_000_000);
    await settled();
    clock.now();
    t.is(world.asked, asked);
  }
});

test('the question is no part of the context of who reads', async (t) => {
  const context = new AsyncLocalStorage<string>();
  const world = { now: 0 };
  const contexts: unknown[] = [];
  const ask = async () => {
    contexts.push(context.getStore());
    return 1_000;
  };
  const clock = new DatabaseClock(ask, { monotonic: () => world.now });
  await context.run('a start', () => clock.renew());
  world.now += 10_000;
  context.run('a transaction', () => clock.now());
  await settled();
  t.deepEqual(contexts, ['a start', undefined]);
});
