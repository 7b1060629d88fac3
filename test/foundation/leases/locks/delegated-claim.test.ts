import test from 'ava';
import { DelegatedClaim, type DelegatedStores } from '../../../../foundation/leases/locks/delegated-claim.ts';
import type { LockStore } from '../../../../foundation/leases/locks/lock-store.ts';
import { Knowledge } from '../../../../foundation/leases/locks/reading.ts';
import { manualClock } from '../../../../testing/manual-clock.ts';

const TIMES = { beat: 100, alone: 400, settle: 800, suspend: 1_000, forget: 6_000 };

/** A claim between two stores that grant whatever is asked; Redis can be taken away. */
function start(lease: number) {
  const clock = manualClock();
  const knowledge = new Knowledge(TIMES);
  let dataset: string | undefined = 'run:mark';
  const asked: string[] = [];
  const store = (name: string): LockStore => ({
    take: async ({ line }) => {
      asked.push(`${name} take ${line}`);
      return { fence: 7, dataset: 'run:mark' };
    },
    renew: async () => {
      asked.push(`${name} renew`);
      return true;
    },
    release: async () => {
      asked.push(`${name} release`);
    },
    onFree() {},
    close: async () => {},
  });
  const stores = {
    clock,
    database: store('database'),
    redis: { ...store('redis'), dataset: () => dataset },
    delegation: { knowledge, beat: async () => {}, prolong() {} },
  } as unknown as DelegatedStores;
  const claim = new DelegatedClaim(stores, new Set(), { key: 'k', lease, ticket: 'ticket' });
  return {
    clock,
    claim,
    asked,
    loseRedis: () => {
      dataset = undefined;
    },
    /** Reads the delegation now. */
    learn: (suspendedFor: number, suspendedSince = 0) => {
      const now = clock.monotonic();
      knowledge.learn({ askedAt: now, answeredAt: now, dataset: 'run:mark', suspendedFor, suspendedSince });
    },
  };
}

test('the database takes a lock over from Redis before its lease there ends', async (t) => {
  const { claim, clock, learn, loseRedis } = start(10_000);
  learn(0);
  t.true(await claim.attempt(true));
  t.is(claim.heldUntil(), 800);
  loseRedis();
  learn(1_000);
  await claim.renew();
  clock.advance(700);
  learn(1_000, 700);
  t.is(claim.heldUntil(), 1_700);
});

test('a lock that no store covers for a moment is lost, whatever is learnt later', async (t) => {
  const { claim, clock, learn, loseRedis } = start(1_000);
  learn(0);
  t.true(await claim.attempt(true));
  clock.advance(700);
  loseRedis();
  learn(1_000);
  await claim.renew();
  // The lease in Redis ends 300 ms after the suspension began; until 400 ms after it Redis may still grant alone.
  t.is(claim.heldUntil(), 1_000);
  clock.advance(450);
  learn(1_000, 450);
  t.is(claim.heldUntil(), 1_000);
  await claim.renew();
  t.is(claim.heldUntil(), 1_000);
});

test('a lock whose time passed while the process stood still is lost, though nobody has it now', async (t) => {
  const { claim, clock, learn, asked } = start(60_000);
  learn(0);
  t.true(await claim.attempt(true));
  t.is(claim.heldUntil(), 800);
  clock.advance(20_000);
  learn(0);
  t.is(claim.heldUntil(), 800);
  await claim.renew();
  t.deepEqual(asked, ['redis take wait']);
});

test('a lock lies in Redis alone, in both stores, or in the database alone', async (t) => {
  const alone = start(10_000);
  alone.learn(0);
  t.true(await alone.claim.attempt(false));
  t.deepEqual(alone.asked, ['redis take look']);

  const both = start(10_000);
  both.learn(1_000, 100);
  t.true(await both.claim.attempt(false));
  t.deepEqual(both.asked, ['redis take look', 'database take look']);

  const database = start(10_000);
  database.loseRedis();
  database.learn(1_000, 700);
  t.false(await database.claim.attempt(true));
  t.deepEqual(database.asked, []);
  database.clock.advance(100);
  t.true(await database.claim.attempt(true));
  t.deepEqual(database.asked, ['database take wait']);
});

test('a lock follows the delegation: into the database, past all who wait, and out of it', async (t) => {
  const { claim, clock, learn, asked } = start(10_000);
  learn(0);
  await claim.attempt(true);
  t.false(claim.isMisplaced());
  learn(1_000);
  t.true(claim.isMisplaced());
  await claim.renew();
  t.false(claim.isMisplaced());
  clock.advance(200);
  learn(0);
  t.true(claim.isMisplaced());
  await claim.renew();
  t.false(claim.isMisplaced());
  await claim.release();
  t.deepEqual(asked, [
    'redis take wait',
    'redis renew',
    'database take jump',
    'redis renew',
    'database release',
    'redis release',
    'database release',
  ]);
});
