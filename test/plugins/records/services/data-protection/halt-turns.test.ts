import test, { type ExecutionContext } from 'ava';
import type { Lease } from '../../../../../foundation/leases/leases.ts';
import { haltTurns } from '../../../../../plugins/records/services/data-protection/halt-turns.ts';
import { ownerMark } from '../../../../../plugins/records/services/sessions/session-access.ts';
import { acquireSessionLease } from '../../../../../plugins/records/services/sessions/session-lease.ts';
import { fakeServices, manualClock } from '../../../../../testing/index.ts';

const never = new AbortController().signal;

function open(t: ExecutionContext) {
  const services = fakeServices();
  t.teardown(() => services[Symbol.asyncDispose]());
  /** A turn; one that is asked to end does so, unless it is stubborn. */
  const turn = async (tenantId: string, sessionId: string, owner: [string, string], isStubborn = false) => {
    const mark = ownerMark({ identityId: owner[0], userId: owner[1] });
    const request = { tenantId, sessionId, mark, maxSessions: 100, signal: never };
    const lease: Lease = await acquireSessionLease(services.leases, request);
    if (!isStubborn)
      lease.signal.addEventListener('abort', () => void lease[Symbol.asyncDispose](), { once: true });
    t.teardown(() => lease[Symbol.asyncDispose]());
    return lease;
  };
  return { services, turn };
}

test('the turns of a user end, by his name or his identity, and others go on', async (t) => {
  const { services, turn } = open(t);
  const named = await turn('one', 'a', ['key', 'ada']);
  const own = await turn('one', 'b', ['ada', 'ada']);
  const others = [
    await turn('one', 'c', ['key', 'bob']),
    await turn('two', 'a', ['key', 'ada']),
    await turn('one', 'ada', ['key', 'key']),
  ];
  await haltTurns(services, { tenantId: 'one', userId: 'ada' }, never);
  t.true(named.signal.aborted && own.signal.aborted);
  for (const { signal } of others) t.false(signal.aborted);
  t.deepEqual((await services.leases.list('sessions:one')).map(({ name }) => name).sort(), ['ada', 'c']);

  await haltTurns(services, { tenantId: 'one' }, never);
  t.deepEqual(
    others.map(({ signal }) => signal.aborted),
    [true, false, true],
  );
  await haltTurns(services, { tenantId: 'nobody' }, never);
});

test('a turn that does not end is told as busy, after a time', async (t) => {
  const { services, turn } = open(t);
  await turn('one', 'a', ['key', 'ada'], true);
  const clock = manualClock();
  const leases = {
    revoke: services.leases.revoke,
    list: (key: string) => {
      clock.advance(10_000);
      return services.leases.list(key);
    },
  };
  const error = await t.throwsAsync(haltTurns({ leases, clock }, { tenantId: 'one' }, never));
  t.like(error, { code: 'session.busy', extras: { headers: { 'retry-after': '30' } } });
  t.is(clock.monotonic(), 40_000);
  const gone = AbortSignal.timeout(100);
  await t.throwsAsync(haltTurns(services, { tenantId: 'one' }, gone), { name: 'AbortError' });
});
