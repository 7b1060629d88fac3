import test from 'ava';
import fc from 'fast-check';
import { createRateLimits, type Decision } from '../../../foundation/limits/rate-limits.ts';

function limitsAt(start = 0) {
  let now = start;
  const clock = { now: () => now, monotonic: () => now };
  const limits = createRateLimits({ clock });
  return {
    /** In memory the answer is immediate; a promise here fails the test's comparison. */
    consume: (key: string, limit: number) => limits.consume('tenant', key, limit) as Decision,
    limits,
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test('admits exactly the limit and counts down what remains', (t) => {
  const { consume } = limitsAt();
  t.deepEqual(consume('a', 3), { allowed: true, limit: 3, remaining: 2 });
  t.deepEqual(consume('a', 3), { allowed: true, limit: 3, remaining: 1 });
  t.deepEqual(consume('a', 3), { allowed: true, limit: 3, remaining: 0 });
  t.deepEqual(consume('a', 3), { allowed: false, limit: 3, remaining: 0 });
});

test('callers and windows do not share a limit', (t) => {
  const { limits, consume } = limitsAt();
  t.true(consume('a', 1).allowed);
  t.true(consume('b', 1).allowed);
  t.true((limits.consume('anonymous', 'a', 1) as Decision).allowed);
  t.true((limits.consume('user', 'a', 1) as Decision).allowed);
  t.true((limits.consume('bootstrap', 'a', 1) as Decision).allowed);
  t.false(consume('a', 1).allowed);
});

test('one that waits the 60 seconds of Retry-After has its whole limit again', (t) => {
  const { consume, advance } = limitsAt(12_345);
  for (let i = 0; i < 5; i += 1) consume('a', 5);
  t.false(consume('a', 5).allowed);
  advance(59_999);
  t.false(consume('a', 5).allowed);
  advance(1);
  t.deepEqual(consume('a', 5), { allowed: true, limit: 5, remaining: 4 });
});

test('hammering above the limit does not lengthen the wait', (t) => {
  const { consume, advance } = limitsAt();
  t.true(consume('a', 1).allowed);
  for (let elapsed = 100; elapsed < 60_000; elapsed += 100) {
    advance(100);
    t.false(consume('a', 1).allowed);
  }
  advance(100);
  t.true(consume('a', 1).allowed);
});

test('a request that is given back does not count, and only once', (t) => {
  const { limits, consume } = limitsAt();
  limits.giveBack('tenant', 'a');
  t.deepEqual(consume('a', 2), { allowed: true, limit: 2, remaining: 1 });
  t.deepEqual(consume('a', 2), { allowed: true, limit: 2, remaining: 0 });
  limits.giveBack('tenant', 'a');
  t.deepEqual(consume('a', 2), { allowed: true, limit: 2, remaining: 0 });
  t.false(consume('a', 2).allowed);
});

test('a limit that is lowered or raised counts at the next request', (t) => {
  const { consume } = limitsAt();
  for (let i = 0; i < 4; i += 1) t.true(consume('a', 4).allowed);
  t.deepEqual(consume('a', 2), { allowed: false, limit: 2, remaining: 0 });
  t.deepEqual(consume('a', 6), { allowed: true, limit: 6, remaining: 1 });
});

test('decides as an exact log does, and never admits more than the limit in any 60 seconds', (t) => {
  const steps = fc.array(
    fc.record({
      wait: fc.oneof(fc.nat(50), fc.integer({ min: 0, max: 70_000 }), fc.constant(60_000)),
      key: fc.constantFrom('a', 'b'),
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 9 }), (requests, limit) => {
      const { consume, advance } = limitsAt();
      const admitted: Record<string, number[]> = { a: [], b: [] };
      let now = 0;
      for (const { wait, key } of requests) {
        now += wait;
        advance(wait);
        const times = admitted[key] as number[];
        const used = times.filter((at) => at > now - 60_000).length;
        const decision = consume(key, limit);
        t.is(decision.allowed, used < limit);
        t.is(decision.remaining, Math.max(limit - used - 1, 0));
        if (decision.allowed) times.push(now);
      }
      for (const times of Object.values(admitted)) {
        for (const start of times) {
          t.true(times.filter((at) => at >= start && at < start + 60_000).length <= limit);
        }
      }
    }),
    { numRuns: 200 },
  );
});
