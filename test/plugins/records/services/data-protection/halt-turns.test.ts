import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import type { Lease } from '../../../../../foundation/leases/leases.ts';
import { haltTurns } from '../../../../../plugins/records/services/data-protection/halt-turns.ts';
import { ownerMark } from '../../../../../plugins/records/services/sessions/session-access.ts';
import { acquireSessionLease } from '../../../../../plugins/records/services/sessions/session-lease.ts';
import { entities } from '../../../../../plugins/records/store/entities.ts';
import { migrations } from '../../../../../plugins/records/store/migrations.ts';
import { sessionWrite } from '../../../../../plugins/records/store/sessions.ts';
import { fakeServices, manualClock } from '../../../../../testing/index.ts';
import { eachDatabase } from '../../../../support/databases.ts';

const never = new AbortController().signal;

/** Where no session has been stored so far. */
const database = { forTenant: () => ({ rows: async () => [] }) } as never;

function open(t: ExecutionContext) {
  const services = { ...fakeServices(), database };
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
  const error = await t.throwsAsync(haltTurns({ leases, database, clock }, { tenantId: 'one' }, never));
  t.like(error, { code: 'session.busy', extras: { headers: { 'retry-after': '30' } } });
  t.is(clock.monotonic(), 40_000);
  const gone = AbortSignal.timeout(100);
  await t.throwsAsync(haltTurns(services, { tenantId: 'one' }, gone), { name: 'AbortError' });
});

eachDatabase(
  test,
  'a turn of an administrator in a session of the user ends too, and in one of others goes on',
  async (t, fresh) => {
    const stored = await openDatabase(fresh.options);
    t.teardown(() => stored.close());
    await stored.register({ owner: 'records', entities, migrations });
    const tenantId = '01900000-0000-7000-8000-000000000001';
    const at = new Date(0);
    const counts = { turns: 1, messageCount: 0, messageBytes: 0, inputTokens: 0, outputTokens: 0 };
    const session = { tenantId, identityId: 'key', model: 'm', createdAt: at, updatedAt: at, ...counts };
    const rows = [
      { ...session, id: 'a', userId: 'ada' },
      { ...session, id: 'b', userId: 'bob' },
      { ...session, id: 'c', userId: 'bob', identityId: 'ada' },
    ];
    await stored.forTenant(tenantId).writeTogether(rows.map((row) => sessionWrite(undefined, row)));

    const { services, turn } = open(t);
    const [inAdas, inBobs, inOwn] = await Promise.all(
      ['a', 'b', 'c'].map((id) => turn(tenantId, id, ['admin', 'root'])),
    );
    await haltTurns({ ...services, database: stored }, { tenantId, userId: 'ada' }, never);
    t.true(inAdas?.signal.aborted);
    t.true(inOwn?.signal.aborted);
    t.false(inBobs?.signal.aborted);
  },
);
