import test, { type ExecutionContext } from 'ava';
import { createAuditLogs } from '../../../foundation/audit/audit-logs.ts';
import { type Pseudonymized, renamedRecord } from '../../../foundation/audit/audit-traces.ts';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { openDatabase } from '../../../foundation/data/database.ts';
import { kernelRegistration } from '../../../foundation/gateway-tables.ts';
import { AuditLog, actionKey } from '../../../foundation/tables/audit-log.ts';
import { sampleRow } from '../../../testing/conformance/sample-row.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';

const ADA: Pseudonymized = { userId: 'ada l', pseudonym: 'erased-1' };
const ALL: Pseudonymized = { pseudonym: 'erased-1' };
const record = (members: object = {}) => ({ userId: 'key', action: 'GET /v1/me', detail: {}, ...members });

test('a name is replaced wherever a record says it, and nothing else', (t) => {
  const named = record({
    userId: 'ada l',
    action: 'DELETE /v1/users/ada%20l/ada%20lo',
    detail: { svc_user_id: 'ada l', query: { user_id: 'ada l', text: 'ada lo', tag: ['x', 'ada l'] } },
  });
  t.deepEqual(renamedRecord(named, ADA), {
    userId: 'erased-1',
    action: 'DELETE /v1/users/erased-1/ada%20lo',
    actionKey: actionKey('DELETE /v1/users/erased-1/ada%20lo'),
    detail: {
      svc_user_id: 'erased-1',
      query: { user_id: 'erased-1', text: 'ada lo', tag: ['x', 'erased-1'] },
    },
  });
  t.is(
    renamedRecord(record({ detail: { query: { name: 'ada' }, changes: { n: 1, none: null } } }), ADA),
    undefined,
  );
  t.is(renamedRecord(record({ action: 'GET /v1/%zz' }), ADA), undefined, 'a path that nobody can decode');
});

test('of a whole tenant all users are replaced, and what is no user stays', (t) => {
  const detail = { svc_user_id: 'ada', query: { user_id: 'bob', limit: '5' }, changes: { name: 'x' } };
  t.like(renamedRecord(record({ detail }), ALL), {
    userId: 'erased-1',
    action: 'GET /v1/me',
    detail: { svc_user_id: 'erased-1', query: { user_id: 'erased-1', limit: '5' }, changes: { name: 'x' } },
  });
  t.like(renamedRecord(record({ detail: { query: { q: 'ad', limit: '5' } } }), ALL), {
    detail: { query: { q: 'erased-1', limit: '5' } },
  });
  t.is(renamedRecord(record({ userId: '' }), ALL), undefined, 'nobody has no name');
});

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const database = await openDatabase(fresh.options);
  t.teardown(() => database.close());
  await database.register(kernelRegistration);
  let flushes = 0;
  const trail = {
    flush: async () => {
      flushes += 1;
      return true;
    },
    record: () => Promise.resolve(),
    forgetRejected: () => Promise.resolve(0),
  };
  const unused = () => t.fail() as never;
  const logs = createAuditLogs({
    database,
    trail,
    clock: systemClock,
    ids: createIds(systemClock),
    objects: { available: false, all: unused },
    leases: { acquire: unused, tryAcquire: unused },
  });
  return { database, logs, flushed: () => flushes };
}

const [ONE, TWO] = ['0190f000-0000-7000-8000-000000000001', '0190f000-0000-7000-8000-000000000002'];
const never = new AbortController().signal;
/** More than one statement looks at. */
const MANY = 5_700;

/** Every third is Ada's; some are of the same moment. */
const rowAt = (tenant: string, index: number) => ({
  ...sampleRow(AuditLog, '4711'),
  id: `${tenant.slice(-1)}-${index}`,
  userId: index % 3 === 0 ? 'ada l' : 'bob',
  action: 'GET /v1/me',
  detail: index % 5 === 0 ? { svc_user_id: 'ada l' } : {},
  createdAt: new Date(1_700_000_000_000 + Math.floor(index / 4)),
});

eachDatabase(
  test,
  'identities are replaced in the transaction, and the rest afterwards',
  async (t, fresh) => {
    const { database, logs, flushed } = await open(t, fresh);
    for (const tenant of [ONE, TWO]) {
      for (let first = 0; first < MANY; first += 300)
        await database.forTenant(tenant).insertMany(
          AuditLog,
          Array.from({ length: 300 }, (_, index) => rowAt(tenant, first + index)),
        );
    }
    const named = async (tenant: string, name: string) => {
      let [identities, details] = [0, 0];
      for await (const { userId, detail } of logs.all(tenant, undefined)) {
        if (userId === name) identities += 1;
        if (detail.svc_user_id === name) details += 1;
      }
      return [identities, details];
    };
    const untouched = [MANY / 3, MANY / 5];
    t.deepEqual(await named(ONE, 'ada l'), untouched);
    t.true(flushed() > 0, 'records of this process are in the database first');

    const renamed = await database
      .forTenant(ONE)
      .transaction((entities) => logs.renameIdentities(entities, ADA));
    t.is(renamed, MANY / 3);
    t.deepEqual(await named(ONE, 'ada l'), [0, MANY / 5]);
    t.deepEqual(await named(ONE, 'erased-1'), [MANY / 3, 0]);
    t.is(await logs.renameInDetails(ONE, ADA, never), MANY / 5);
    t.deepEqual(await named(ONE, 'ada l'), [0, 0]);
    t.deepEqual(await named(TWO, 'ada l'), untouched, 'another tenant');

    let bobs = 0;
    for await (const { userId } of logs.all(TWO, 'bob')) if (userId === 'bob') bobs += 1;
    t.is(bobs, MANY - MANY / 3);
    const before = new Date(1_700_000_000_000 + 9);
    t.is(await logs.renameInDetails(TWO, { ...ADA, before }, never), 8 + 14 - 3, 'up to that moment');
    await t.throwsAsync(logs.renameInDetails(TWO, ADA, AbortSignal.abort(new Error('stop'))), {
      message: 'stop',
    });
  },
);
