import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import test from 'ava';
import { GatewayError } from '../../../foundation/base/gateway-error.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Database } from '../../../foundation/data/database.ts';
import { tellLifecycle } from '../../../foundation/tables/tell-lifecycle.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { createApiKeyAuthenticator } from '../../../kernel/auth/api-key.ts';
import { type ApiKeySettings, createApiKeyStore, hashApiKey } from '../../../kernel/auth/api-key-store.ts';
import { createAuthenticationChain } from '../../../kernel/auth/chain.ts';
import { createApiKeyLookup, createIdentityCache } from '../../../kernel/auth/identity-cache.ts';
import { fakeDurableEvents } from '../../../testing/fakes/fake-durable-events.ts';
import { type ManualClock, manualClock } from '../../../testing/manual-clock.ts';
import { eachDatabase, type FreshDatabase } from '../../support/databases.ts';
import { openKernelDatabase } from '../tenancy/open-kernel-database.ts';
import { credentials } from './credentials.ts';

const ACME = '0198c0de-0000-7000-8000-00000000000a';
const OTHER = '0198c0de-0000-7000-8000-00000000000b';

/** One replica of the gateway, as far as keys are concerned. */
function replica(database: Database, clock: ManualClock) {
  const identities = createIdentityCache(createApiKeyLookup(database), clock);
  const keys = createApiKeyStore({
    database,
    clock,
    ids: createIds(clock),
    identities,
    lifecycle: tellLifecycle(fakeDurableEvents()),
  });
  const apiKeys = createApiKeyAuthenticator({ identities, clock, touch: () => {} });
  const chain = createAuthenticationChain({ builtin: [apiKeys] });
  /** `ok`, or why the key does not hold. */
  const verdict = async (raw: string) =>
    (await chain.authenticate(credentials(raw))).failure?.failure ?? 'ok';
  return { keys, chain, verdict };
}

function settings(changes: Partial<ApiKeySettings> = {}): ApiKeySettings {
  return {
    tenantId: ACME,
    name: 'key',
    roles: ['user'],
    scopes: [],
    expiresAt: null,
    createdBy: 'maker',
    ...changes,
  };
}

eachDatabase(
  test,
  'a new key works at once, and its record shows neither its value nor its hash',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const { keys, chain } = replica(database, manualClock());
    const { record, key } = await keys.create(
      settings({ roles: ['user', 'billing', 'user'], scopes: ['read'] }),
    );
    t.regex(key, /^hk_[\w-]{43}$/);
    t.is(record.prefix, key.slice(0, 8));
    t.like(record, {
      tenantId: ACME,
      name: 'key',
      roles: ['user', 'billing'],
      scopes: ['read'],
      createdBy: 'maker',
    });
    t.like(await chain.authenticate(credentials(key)), {
      identity: { id: record.id, tenantId: ACME, method: 'api_key', scopes: new Set(['read', 'billing:*']) },
    });
    const found = await keys.find(record.id);
    t.deepEqual(found, record);
    t.notRegex(inspect(found), new RegExp(`${key}|${hashApiKey(key)}`));
  },
);

eachDatabase(test, 'a legacy key has the three general scopes', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const { keys, chain } = replica(database, manualClock());
  const { key } = await keys.create(settings());
  t.like(await chain.authenticate(credentials(key)), {
    identity: { scopes: new Set(['read', 'write', 'execute']) },
  });
});

eachDatabase(
  test,
  'a revoked key fails on the next request; revoking again changes nothing',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const clock = manualClock();
    const { keys, verdict } = replica(database, clock);
    const { record, key } = await keys.create(settings());
    t.is(await verdict(key), 'ok');
    t.true(await keys.revoke(record.id, ACME));
    t.is(await verdict(key), 'revoked');
    const revokedAt = new Date(clock.now());
    clock.advance(5000);
    t.true(await keys.revoke(record.id, ACME));
    t.deepEqual((await keys.find(record.id))?.revokedAt, revokedAt);
    t.false(await keys.revoke('nobody'));
  },
);

eachDatabase(test, 'a key that another replica revoked fails within a second', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  await using second = await openKernelDatabase(fresh);
  const clock = manualClock();
  const [here, elsewhere] = [replica(database, clock), replica(second, clock)];
  const { record, key } = await here.keys.create(settings());
  t.is(await elsewhere.verdict(key), 'ok');
  await here.keys.revoke(record.id);
  clock.advance(1000);
  t.is(await elsewhere.verdict(key), 'revoked');
});

eachDatabase(
  test,
  'revoking while lookups are under way: every request that starts later fails',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const { keys, verdict } = replica(database, manualClock());
    for (let round = 0; round < 10; round += 1) {
      const { record, key } = await keys.create(settings());
      const before = [verdict(key), verdict(key)];
      await keys.revoke(record.id);
      t.is(await verdict(key), 'revoked');
      await Promise.all(before);
      t.is(await verdict(key), 'revoked');
    }
  },
);

eachDatabase(test, 'an expired key fails', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { keys, verdict } = replica(database, clock);
  const { key } = await keys.create(settings({ expiresAt: new Date(clock.now() + 10) }));
  t.is(await verdict(key), 'ok');
  clock.advance(10);
  t.is(await verdict(key), 'expired');
});

eachDatabase(
  test,
  'lists and single keys stay within the tenant, newest first, revoked ones too',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    const clock = manualClock();
    const { keys, verdict } = replica(database, clock);
    const made = [];
    for (const tenantId of [ACME, OTHER, ACME]) {
      made.push(await keys.create(settings({ tenantId })));
      clock.advance(1);
    }
    const [a, foreign, b] = made.map(({ record }) => record.id) as [string, string, string];
    await keys.revoke(a);
    const ids = async (options: Parameters<typeof keys.list>[0]) => {
      const page = await keys.list(options);
      return [page.records.map(({ id }) => id), page.total];
    };
    t.deepEqual(await ids({ limit: 10, offset: 0, tenantId: ACME }), [[b, a], 2]);
    t.deepEqual(await ids({ limit: 1, offset: 1, tenantId: ACME }), [[a], 2]);
    t.deepEqual(await ids({ limit: 10, offset: 0 }), [[b, foreign, a], 3]);
    t.is(await keys.find(foreign, ACME), undefined);
    t.like(await keys.find(foreign, OTHER), { id: foreign });
    t.false(await keys.revoke(foreign, ACME));
    await t.throwsAsync(keys.rotate(foreign, { tenantId: ACME, createdBy: null }), {
      code: 'api-key.not-found',
    });
    t.is(await verdict(made[1]?.key ?? ''), 'ok');
  },
);

eachDatabase(test, 'rotating makes a key of the same kind and ends the old one', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { keys, verdict } = replica(database, clock);
  const expiresAt = new Date(clock.now() + 60_000);
  const old = await keys.create(settings({ name: 'ci', roles: ['ops'], scopes: ['read'], expiresAt }));
  t.is(await verdict(old.key), 'ok');
  const rotated = await keys.rotate(old.record.id, { tenantId: ACME, createdBy: 'rotator' });
  t.like(rotated.record, {
    name: 'ci',
    roles: ['ops'],
    scopes: ['read'],
    expiresAt,
    createdBy: 'rotator',
    revokedAt: null,
  });
  t.is(await verdict(old.key), 'revoked');
  t.is(await verdict(rotated.key), 'ok');
  await t.throwsAsync(keys.rotate(old.record.id, { createdBy: null }), { code: 'api-key.revoked' });
  clock.advance(60_000);
  await t.throwsAsync(keys.rotate(rotated.record.id, { createdBy: null }), { code: 'api-key.expired' });
  t.is((await keys.list({ limit: 10, offset: 0 })).total, 2);
});

eachDatabase(
  test,
  'of simultaneous rotations of a key exactly one wins, on two replicas',
  async (t, fresh) => {
    await using database = await openKernelDatabase(fresh);
    await using second = await openKernelDatabase(fresh);
    const clock = manualClock();
    const [one, two] = [replica(database, clock).keys, replica(second, clock).keys];
    const { record } = await one.create(settings());
    const attempts = [one, two, one, two].map((keys) => keys.rotate(record.id, { createdBy: null }));
    const results = await Promise.allSettled(attempts);
    t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const result of results)
      if (result.status === 'rejected') t.is(result.reason.code, 'api-key.revoked');
    t.is((await one.list({ limit: 10, offset: 0 })).total, 2);
  },
);

eachDatabase(test, 'of simultaneous bootstraps exactly one wins, on two replicas', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  await using second = await openKernelDatabase(fresh);
  const clock = manualClock();
  const [one, two] = [replica(database, clock), replica(second, clock)];
  t.false(await one.keys.hasUsableAdmin(DEFAULT_TENANT_ID));
  const attempts = [one, two, one, two, one, two].map(({ keys }) =>
    keys.bootstrap({ name: 'first', expiresAt: null }),
  );
  const results = await Promise.allSettled(attempts);
  const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  t.is(won.length, 1);
  for (const result of results) {
    if (result.status === 'rejected')
      t.like(result.reason, { code: 'bootstrap.completed', kind: 'forbidden' });
  }
  t.is((await one.keys.list({ limit: 10, offset: 0 })).total, 1);
  const { record, key } = won[0]!;
  t.like(record, { tenantId: DEFAULT_TENANT_ID, name: 'first', roles: ['admin'] });
  t.deepEqual([...record.scopes].sort(), ['admin', 'execute', 'read', 'write']);
  t.is(await two.verdict(key), 'ok');
});

eachDatabase(test, 'bootstrap is possible again when no administrator key is usable', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { keys } = replica(database, clock);
  await keys.create(settings({ tenantId: DEFAULT_TENANT_ID, roles: ['user', 'owner'] }));
  await keys.create(settings({ tenantId: ACME, roles: ['admin'] }));
  const first = await keys.bootstrap({ name: 'first', expiresAt: new Date(clock.now() + 1000) });
  await t.throwsAsync(keys.bootstrap({ name: 'x', expiresAt: null }), { code: 'bootstrap.completed' });
  clock.advance(1000);
  t.false(await keys.hasUsableAdmin(DEFAULT_TENANT_ID), `${first.record.id} is expired`);
  const second = await keys.bootstrap({ name: 'second', expiresAt: null });
  t.true(await keys.hasUsableAdmin(DEFAULT_TENANT_ID));
  await keys.revoke(second.record.id);
  t.false(await keys.hasUsableAdmin(DEFAULT_TENANT_ID));
  await t.notThrowsAsync(keys.bootstrap({ name: 'third', expiresAt: null }));
});

eachDatabase(test, 'an administrator is found behind several pages of other keys', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const clock = manualClock();
  const { keys } = replica(database, clock);
  const { ApiKey } = await import('../../../foundation/tables/api-key.ts');
  const rows = Array.from({ length: 401 }, (_, index) => ({
    id: `0198c0de-0000-7000-8000-${String(index).padStart(12, '0')}`,
    tenantId: ACME,
    name: 'key',
    prefix: 'hk_xxxxx',
    hash: hashApiKey(String(index)),
    roles: index === 400 ? ['admin'] : ['user'],
    scopes: [],
    createdAt: new Date(clock.now()),
  }));
  await database.system().insertMany(ApiKey, rows.slice(0, 400));
  t.false(await keys.hasUsableAdmin(ACME));
  await database.system().insertMany(ApiKey, rows.slice(400));
  t.true(await keys.hasUsableAdmin(ACME));
});

eachDatabase(test, 'the raw value of a key is nowhere in the database and in no error', async (t, fresh) => {
  await using database = await openKernelDatabase(fresh);
  const { keys, chain, verdict } = replica(database, manualClock());
  const { record, key } = await keys.create(settings());
  const rotated = await keys.rotate(record.id, { createdBy: null });
  const first = await keys.bootstrap({ name: 'first', expiresAt: null });
  await verdict(key);
  const guess = `hk_${'guess'.repeat(9)}`;
  const refused = inspect(await chain.authenticate(credentials(guess)), { depth: 10 });

  const dump = await dumpOf(fresh);
  t.true(dump.includes(hashApiKey(key)), 'the dump holds the keys');
  for (const raw of [key, rotated.key, first.key, guess]) {
    // The stored prefix has 8 characters; nothing longer of the value may be found.
    t.false(dump.includes(raw.slice(0, 12)) || dump.includes(raw.slice(12, 30)));
    t.false(refused.includes(raw.slice(0, 12)));
  }

  const bytes = Buffer.alloc(32, 7);
  const raw = `hk_${bytes.toString('base64url')}`;
  const ids = { ...createIds(manualClock()), bytes: () => bytes };
  const fixed = createApiKeyStore({
    database,
    clock: manualClock(),
    ids,
    identities: { forget: () => {} },
    lifecycle: tellLifecycle(fakeDurableEvents()),
  });
  await fixed.create(settings());
  const error = await t.throwsAsync(fixed.create(settings()), undefined, 'the hash is unique');
  t.false(error instanceof GatewayError);
  t.false(inspect(error, { depth: 10 }).includes(raw.slice(0, 12)));
});

test('without randomness no key is made', async (t) => {
  const ids = {
    uuid: () => 'id',
    opaque: () => 'id',
    bytes: () => {
      throw new Error('no entropy');
    },
  };
  const inserted: unknown[] = [];
  const entities = { insert: (...row: unknown[]) => inserted.push(row) };
  const database = { transaction: (work: (inside: object) => unknown) => work(entities) } as never;
  const keys = createApiKeyStore({
    database,
    clock: manualClock(),
    ids,
    identities: { forget: () => {} },
    lifecycle: tellLifecycle(fakeDurableEvents()),
  });
  await t.throwsAsync(async () => keys.create(settings()), { message: 'no entropy' });
  t.deepEqual(inserted, []);
});

/** Everything that the database holds: the files of SQLite, all rows of all tables elsewhere. */
async function dumpOf(fresh: FreshDatabase): Promise<string> {
  const { file } = fresh.options;
  if (file !== undefined) {
    const folder = path.dirname(file);
    const parts = await Promise.all(
      (await readdir(folder)).map((name) => readFile(path.join(folder, name), 'latin1')),
    );
    return parts.join('\n');
  }
  const current = fresh.family === 'postgres' ? "'public'" : 'database()';
  const tables = await fresh.ask(
    `select table_name as name from information_schema.tables where table_schema = ${current}`,
  );
  const rows = await Promise.all(tables.map(({ name }) => fresh.ask(`select * from ${name}`)));
  return JSON.stringify(rows);
}
