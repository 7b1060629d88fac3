import test, { type ExecutionContext } from 'ava';
import { createAuditArchive, entryOfLine, lineOf } from '../../../foundation/audit/audit-archive.ts';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import { AuditLog, actionKey } from '../../../foundation/tables/audit-log.ts';
import { manualClock, startTestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../support/databases.ts';

const [ONE, TWO] = ['0190f000-0000-7000-8000-000000000001', '0190f000-0000-7000-8000-000000000002'];
const never = new AbortController().signal;
const at = (text: string) => new Date(`2026-03-${text}Z`);

const ENTRY: AuditEntry = {
  id: 'a',
  tenantId: ONE,
  userId: 'ada',
  action: 'GET /v1/me',
  detail: { svc_user_id: 'ada' },
  requestId: 'r',
  statusCode: 200,
  latencyMs: 3,
  createdAt: at('01T00:00:00.001'),
  sessionId: undefined,
  sourceIp: '::1',
  userAgent: 'é\n"',
  errorCode: undefined,
  authMethod: 'api_key',
};

test('a record comes back from its line as it was', (t) => {
  t.deepEqual(entryOfLine(lineOf(ENTRY)), ENTRY);
  t.false(lineOf(ENTRY).includes('\n'));
  t.like(JSON.parse(lineOf(ENTRY)), {
    tenant_id: ONE,
    created_at: '2026-03-01T00:00:00.001Z',
    latency_ms: 3,
  });
});

/** A gateway without plugins, with records of tenants at times. */
async function startArchived(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  const gateway = await startTestGateway({
    plugins: [],
    env,
    clock: manualClock(at('10T12:00:00').getTime()),
  });
  t.teardown(gateway.stop);
  const { database, audit, objects, leases } = gateway.gateway.services;
  return {
    database,
    audit,
    objects,
    leases,
    async write(
      tenantId: string,
      ...records: readonly (readonly [id: string, createdAt: Date, userId?: string])[]
    ) {
      const rows = records.map(([id, createdAt, userId = 'ada']) => {
        const { action, detail, requestId, statusCode, latencyMs } = {
          ...ENTRY,
          detail: { svc_user_id: userId },
        };
        const base = { id, tenantId, userId, action, actionKey: actionKey(action), detail, requestId };
        const rest = { sessionId: null, sourceIp: null, userAgent: null, errorCode: null, authMethod: null };
        return { ...base, statusCode, latencyMs, createdAt, ...rest };
      });
      for (let start = 0; start < rows.length; start += 500)
        await database.system().insertMany(AuditLog, rows.slice(start, start + 500));
    },
    keys: async () => (await objects.all().list('_system/audit/')).objects.map(({ key }) => key),
    left: () => database.system().count(AuditLog, { requestId: 'r' }),
    async all(tenantId: string, userId?: string) {
      const ids: string[] = [];
      for await (const { id, requestId } of audit.all(tenantId, userId)) if (requestId === 'r') ids.push(id);
      return ids;
    },
  };
}

eachGatewayDatabase(
  test,
  'whole days that are old are moved, and read as before',
  async (t, { environment }) => {
    const { audit, objects, write, keys, left, all } = await startArchived(t, environment);
    await write(ONE, ['a', at('01T00:00:00')], ['b', at('01T23:59:59.999'), 'bob'], ['c', at('02T10:00:00')]);
    await write(TWO, ['d', at('01T10:00:00')]);
    await write('', ['e', at('02T00:00:00')]);
    await write(ONE, ['f', at('03T00:00:00')], ['g', at('03T11:00:00')]);
    const before = await all(ONE);

    t.is(await audit.archive(at('03T23:00:00'), never), 5);
    const root = '_system/audit';
    t.deepEqual(await keys(), [
      `${root}/${ONE}/2026-03-01/a.jsonl`,
      `${root}/${ONE}/2026-03-02/c.jsonl`,
      `${root}/${TWO}/2026-03-01/d.jsonl`,
      `${root}/none/2026-03-02/e.jsonl`,
    ]);
    t.is(await left(), 2, 'the day of the limit is not whole');
    t.deepEqual(await all(ONE), before);
    t.deepEqual(await all(ONE, 'bob'), ['b']);
    t.deepEqual(await all(TWO), ['d']);
    const text = await objects.all().text(`${root}/${ONE}/2026-03-01/a.jsonl`, 10_000);
    t.deepEqual(text!.split('\n').length, 3, 'two lines, each with its end');

    // Those that are moved while they are read.
    await write(ONE, ['h', at('03T12:00:00')], ['i', at('04T00:00:00')]);
    const reading = audit.all(ONE, undefined)[Symbol.asyncIterator]();
    const ids = [(await reading.next()).value!.id];
    t.is(await audit.archive(at('04T23:00:00'), never), 3);
    for (let next = await reading.next(); !next.done; next = await reading.next())
      if (next.value.requestId === 'r') ids.push(next.value.id);
    t.deepEqual(ids.toSorted(), [...before, 'h', 'i'].toSorted());
    before.push('h', 'i');

    // One that was on its way for long.
    await write(ONE, ['0', at('01T10:00:00')]);
    t.is(await audit.archive(at('03T23:00:00'), never), 1);
    t.deepEqual((await all(ONE)).toSorted(), ['0', ...before].toSorted());
    t.is(await audit.archive(at('03T23:00:00'), never), 0);
  },
);

eachGatewayDatabase(
  test,
  'who is erased is not named in archived records either',
  async (t, { environment }) => {
    const { audit, objects, write, keys } = await startArchived(t, environment);
    await write(ONE, ['a', at('01T00:00:00')], ['b', at('01T01:00:00'), 'bob'], ['c', at('02T10:00:00')]);
    await write(TWO, ['d', at('01T10:00:00')]);
    await write(ONE, ['g', at('08T10:00:00')]);
    await audit.archive(at('05T00:00:00'), never);
    const texts = async () => {
      const read = (await keys()).map((key) => objects.all().text(key, 10_000));
      return (await Promise.all(read)).map((text) =>
        text!.replaceAll(/"(?:id|tenant_id|action)":"[^"]*",?/g, ''),
      );
    };
    const [, , foreign] = await texts();
    const before = at('02T09:00:00');
    t.is(await audit.renameInDetails(ONE, { userId: 'ada', pseudonym: 'erased-1', before }, never), 1);
    t.is(
      await audit.renameInDetails(ONE, { userId: 'ada', pseudonym: 'erased-1' }, never),
      2,
      'and one in the table',
    );
    const [first, second, other] = await texts();
    t.false(`${first}${second}`.includes('ada'));
    t.true(
      first!.includes('bob') &&
        first!.includes('"user_id":"erased-1"') &&
        first!.includes('"svc_user_id":"erased-1"'),
    );
    t.is(other, foreign);
    t.is(await audit.renameInDetails(ONE, { pseudonym: 'erased-2' }, never), 4, 'all of the tenant');
    t.true((await texts()).join().includes('erased-2'));
    t.false((await texts()).slice(0, 2).join().includes('bob'));
  },
);

test('what dies between the object and the rows loses nothing', async (t) => {
  const { environment } = (await gatewayDatabase(t, 'sqlite'))!;
  const { database, objects, leases, audit, write, left, all } = await startArchived(t, environment);
  const ids = Array.from({ length: 5_000 }, (_, index) => String(index).padStart(5, '0'));
  await write(
    ONE,
    ...ids.map((id, index) => [id, new Date(at('01T00:00:00').getTime() + Math.floor(index / 3))] as const),
  );
  let deaths = 0;
  const dying = {
    system() {
      const system = database.system();
      system.nativeDelete = () => {
        deaths += 1;
        throw new Error('killed');
      };
      return system;
    },
  };
  const end = at('05T00:00:00');
  for (let attempt = 0; attempt < 2; attempt += 1)
    await t.throwsAsync(createAuditArchive({ database: dying, objects, leases }).move(end, never), {
      message: 'killed',
    });
  t.deepEqual([deaths, await left()], [2, 5_000]);
  await write(ONE, ['00000-late', at('01T00:00:00')]);
  await t.throwsAsync(audit.archive(end, AbortSignal.abort(new Error('stop'))), { message: 'stop' });
  // Of several at one time each does a part.
  const moved = await Promise.all([
    audit.archive(end, never),
    audit.archive(end, never),
    audit.archive(end, never),
  ]);
  await audit.archive(end, never);
  t.is(await left(), 0, String(moved));
  t.deepEqual([...new Set(await all(ONE))].toSorted(), [...ids, '00000-late'].toSorted());
});

test('a replica that has lost its lease deletes nothing: another may replace a name in what it has read', async (t) => {
  const { environment } = (await gatewayDatabase(t, 'sqlite'))!;
  const { database, objects, leases, write, left } = await startArchived(t, environment);
  await write(ONE, ['a', at('01T00:00:00')]);
  const lost = new AbortController();
  const losing = {
    available: true,
    all() {
      const space = objects.all();
      const put: typeof space.put = async (...given) => {
        const stored = await space.put(...given);
        lost.abort(new Error('the lease is lost'));
        return stored;
      };
      return { ...space, put };
    },
  };
  const once: typeof leases.tryAcquire = async (key, options) => {
    const lease = await leases.tryAcquire(key, options);
    return typeof lease === 'string' ? lease : Object.defineProperty(lease, 'signal', { value: lost.signal });
  };
  const archive = createAuditArchive({
    database,
    objects: losing,
    leases: { acquire: leases.acquire, tryAcquire: once },
  });
  await t.throwsAsync(archive.move(at('05T00:00:00'), never), { message: 'the lease is lost' });
  t.is(await left(), 1);
});

test('without object storage records stay where they are', async (t) => {
  const { environment } = (await gatewayDatabase(t, 'sqlite'))!;
  const { audit, write, left, all } = await startArchived(t, { ...environment, OBJECT_STORE_URL: 'none' });
  await write(ONE, ['a', at('01T00:00:00')]);
  t.is(await audit.archive(at('05T00:00:00'), never), 0);
  t.is(await audit.renameInDetails(ONE, { userId: 'ada', pseudonym: 'x' }, never), 1);
  t.deepEqual([await left(), await all(ONE)], [1, ['a']]);
});
