import test from 'ava';
import fc from 'fast-check';
import { DatabaseClock, sharedClock } from '../../../foundation/data/database-clock.ts';

/** A database whose clock is `ahead` of ours, and that takes its time to answer. */
function setUp() {
  const world = { now: 0, ahead: 1_000_000, there: 0, back: 0, isAway: false };
  const clock = new DatabaseClock(
    {
      now: async () => {
        if (world.isAway) throw new Error('away');
        world.now += world.there;
        const answer = world.now + world.ahead;
        world.now += world.back;
        return answer;
      },
    },
    { monotonic: () => world.now },
  );
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

test('what processes share is the clock of the server from its first answer on, and over a file that of this machine', async (t) => {
  const own = { now: () => 500, monotonic: () => 7 };
  const server = sharedClock({ family: 'postgres', now: async () => 9_000 }, own);
  t.is(server.now(), 500);
  await server.renew();
  t.is(server.now(), 9_000);
  t.is(server.monotonic(), 7);
  const file = sharedClock({ family: 'sqlite', now: async () => 9_000 }, own);
  await file.renew();
  t.is(file.now(), 500);
});
