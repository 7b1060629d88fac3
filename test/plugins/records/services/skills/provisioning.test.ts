import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { openDatabase } from '../../../../../foundation/data/database.ts';
import { ObjectErrors } from '../../../../../foundation/objects/object-errors.ts';
import type { Objects } from '../../../../../foundation/objects/objects.ts';
import type { Leases } from '../../../../../kernel/index.ts';
import { SkillProvisioning } from '../../../../../plugins/records/contract.ts';
import { EMPTY_MANIFEST, type SkillEntry } from '../../../../../plugins/records/services/skills/manifest.ts';
import { createProvisioning } from '../../../../../plugins/records/services/skills/provisioning.ts';
import { skillKey } from '../../../../../plugins/records/services/skills/skill-objects.ts';
import {
  BUILTIN_FOLDER,
  digestOf,
  readCatalog,
  type SkillCatalog,
} from '../../../../../plugins/records/services/skills/skill-text.ts';
import { skillsMigration } from '../../../../../plugins/records/store/migrations.ts';
import {
  findState,
  SkillProvisioningEntity,
} from '../../../../../plugins/records/store/skill-provisionings.ts';
import { type FakeServices, manualClock, memoryObjects } from '../../../../../testing/index.ts';
import { eachDatabase, type FreshDatabase, freshDatabase } from '../../../../support/databases.ts';
import { until } from '../../../../support/until.ts';
import { catalogOf, OTHER, openSkills, skillText, TENANT } from './kit.ts';
import { eachStore } from './stores.ts';

const NAMES = Array.from({ length: 25 }, (_, index) => `builtin-${String(index).padStart(2, '0')}`);
const never = new AbortController().signal;

async function openTable(t: ExecutionContext, fresh?: FreshDatabase) {
  const { options } = fresh ?? (await freshDatabase(t, 'sqlite'))!;
  const database = await openDatabase(options);
  t.teardown(() => database.close());
  await database.register({
    owner: 'skills-test',
    entities: [SkillProvisioningEntity],
    migrations: [skillsMigration],
  });
  return database;
}

type Given = Partial<Pick<FakeServices, 'objects' | 'leases' | 'clock'>>;

/** One replica over a table, a store and live tenants that it shares with others. */
function openReplica(
  t: ExecutionContext,
  database: Awaited<ReturnType<typeof openTable>>,
  given: Given = {},
  { catalog = catalogOf(NAMES) as SkillCatalog, live = [TENANT] as string[] } = {},
) {
  const opened = openSkills(t, given, catalog);
  const done: string[] = [];
  const pages: number[] = [];
  const records = () => live.map((id) => ({ id, deletedAt: id === OTHER ? new Date() : null }) as never);
  const provisioning = createProvisioning({
    ...opened.services,
    database,
    catalog,
    manifests: opened.manifests,
    log: opened.log,
    tenants: {
      get: async (id) => records().find((record: { id: string }) => record.id === id),
      list: async ({ offset, limit }) => {
        pages.push(offset / limit);
        const all = records().filter((record: { deletedAt: Date | null }) => record.deletedAt === null);
        return { records: all.slice(offset, offset + limit), total: all.length };
      },
    },
    onDone: (result) => void done.push(result),
  });
  return { ...opened, provisioning, done, pages };
}

/** A store that dies after a number of writes and deletes, and says so, until it is mended. */
function mortal(objects: Objects, changes: number) {
  const state = { left: changes };
  const change = () => {
    if (state.left <= 0) throw ObjectErrors.unavailable();
    state.left -= 1;
  };
  const store: Objects = {
    ...objects,
    check: async () => {
      if (state.left <= 0) throw ObjectErrors.unavailable();
    },
    forTenant: (tenantId) => {
      const space = objects.forTenant(tenantId);
      return {
        ...space,
        put: async (...args) => {
          change();
          return space.put(...args);
        },
        delete: async (...args) => {
          change();
          return space.delete(...args);
        },
      };
    },
  };
  return { store, state };
}

eachDatabase(
  test,
  'a new tenant has every built-in skill, and gets the default soul, once',
  async (t, fresh) => {
    const database = await openTable(t, fresh);
    const { provisioning, skills, souls, done } = openReplica(t, database);
    await provisioning.sweep(never);
    t.deepEqual(
      (await skills.list(TENANT)).map(({ name, source, userModified }) => [name, source, userModified]),
      NAMES.map((name) => [name, 'builtin', false]),
    );
    t.is(await skills.read(TENANT, 'builtin-07'), skillText('builtin-07'));
    t.is(await souls.read(TENANT), '# Default soul\n');
    t.is((await findState(database.forTenant(TENANT)))?.catalog, catalogOf(NAMES).id);
    await provisioning.sweep(never);
    await provisioning.provision(TENANT, never);
    t.deepEqual(done, ['ok']);
    t.is(await database.schemaDrift(), '');
  },
);

eachStore(test, 'replicas that sweep together do the work once', async (t, store) => {
  const database = await openTable(t);
  const shared = { leases: store.leases, clock: manualClock() };
  const replicas = await Promise.all(
    [0, 1, 2].map(async () => openReplica(t, database, { ...shared, objects: await store.open() })),
  );
  await Promise.all(replicas.map(({ provisioning }) => provisioning.sweep(never)));
  t.deepEqual(
    replicas.flatMap(({ done }) => done),
    ['ok'],
  );
  t.is((await replicas[0]!.skills.list(TENANT)).length, NAMES.length);
});

/** A tenant as an earlier version left it: with a copy of each built-in skill. */
async function giveCopies(
  { services, manifests }: ReturnType<typeof openSkills>,
  names: readonly string[],
): Promise<void> {
  const space = services.objects.forTenant(TENANT);
  const skills = new Map<string, SkillEntry>();
  for (const name of names) {
    const text = skillText(name, 'older', '0.9.0');
    await space.put(skillKey(name), text);
    const entry = { description: `About ${name}`, version: '0.9.0', sha256: digestOf(text) };
    skills.set(name, { ...entry, source: 'builtin', user_modified: false });
  }
  await manifests.change(TENANT, async () => ({
    manifest: { ...EMPTY_MANIFEST, skills },
    result: undefined,
  }));
}

const keysOf = async (objects: Objects) =>
  (await objects.forTenant(TENANT).list('')).objects.map(({ key }) => key);

for (const calls of [0, 1, 5, 11, 12, 13, 23, 26, 27]) {
  test(`a store that dies after ${calls} changes is gone on with, and nothing is lost`, async (t) => {
    const database = await openTable(t);
    const clock = manualClock();
    const real = memoryObjects(clock);
    await giveCopies(openSkills(t, { objects: real, clock }), NAMES);
    const { store, state } = mortal(real, calls);
    const first = openReplica(t, database, { objects: store, clock });
    await first.provisioning.provision(TENANT, never);
    t.deepEqual(first.done, ['failed']);
    t.is((await findState(database.forTenant(TENANT)))?.failures, 1);
    for (const name of NAMES) t.is(await first.skills.read(TENANT, name), skillText(name));
    state.left = Number.POSITIVE_INFINITY;
    const second = openReplica(t, database, { objects: store, clock });
    await second.provisioning.sweep(never);
    t.deepEqual(second.done, [], 'not before its time');
    clock.advance(30_000);
    await second.provisioning.sweep(never);
    t.deepEqual(second.done, ['ok']);
    t.deepEqual(await keysOf(real), ['SOUL.md', 'skills.json']);
    t.is((await second.skills.list(TENANT)).length, NAMES.length);
    t.is(await second.souls.read(TENANT), '# Default soul\n');
    for (const name of NAMES) t.is(await second.skills.read(TENANT, name), skillText(name));
  });
}

test('a process that ends in the middle leaves no failure behind, and the next one goes on at once', async (t) => {
  const database = await openTable(t);
  const objects = memoryObjects(systemClock);
  await giveCopies(openSkills(t, { objects }), NAMES);
  const stop = new AbortController();
  let deleted = 0;
  const stopping: Objects = {
    ...objects,
    forTenant: (tenantId) => {
      const space = objects.forTenant(tenantId);
      return {
        ...space,
        delete: (...args) => {
          deleted += 1;
          if (deleted === 15) stop.abort(new Error('the process ends'));
          return space.delete(...args);
        },
      };
    },
  };
  const first = openReplica(t, database, { objects: stopping });
  await first.provisioning.sweep(stop.signal);
  t.deepEqual(first.done, []);
  t.is(await findState(database.forTenant(TENANT)), undefined);
  const second = openReplica(t, database, { objects });
  await second.provisioning.sweep(never);
  t.deepEqual(second.done, ['ok']);
  t.deepEqual(await keysOf(objects), ['SOUL.md', 'skills.json']);
});

test('a new catalog shows where nothing was touched, and leaves alone what was changed or deleted', async (t) => {
  const database = await openTable(t);
  const clock = manualClock();
  const objects = memoryObjects(clock);
  const old = openReplica(
    t,
    database,
    { objects, clock },
    { catalog: catalogOf(['alpha', 'beta', 'gamma']) },
  );
  await old.provisioning.sweep(never);
  await old.skills.write(TENANT, 'alpha', skillText('alpha', 'mine'));
  await old.skills.remove(TENANT, 'beta');
  await old.souls.write(TENANT, 'my soul');
  const catalog = catalogOf(['alpha', 'beta', 'gamma', 'new'], 'better', '2.0.0');
  const renewed = openReplica(t, database, { objects, clock }, { catalog });
  await renewed.provisioning.sweep(never);
  t.deepEqual(
    (await renewed.skills.list(TENANT)).map(({ name, version, userModified }) => [
      name,
      version,
      userModified,
    ]),
    [
      ['alpha', '1.0.0', true],
      ['gamma', '2.0.0', false],
      ['new', '2.0.0', false],
    ],
  );
  t.is(await renewed.skills.read(TENANT, 'alpha'), skillText('alpha', 'mine'));
  t.is(await renewed.skills.read(TENANT, 'gamma'), skillText('gamma', 'better', '2.0.0'));
  t.is(await renewed.souls.read(TENANT), 'my soul');
});

test('an upload over a copy that died before the manifest is the tenant’s, and is not removed', async (t) => {
  const database = await openTable(t);
  const clock = manualClock();
  const objects = memoryObjects(clock);
  await giveCopies(openSkills(t, { objects, clock }), ['alpha', 'beta']);
  await objects.forTenant(TENANT).put('skills/alpha/SKILL.md', skillText('alpha', 'half uploaded'));
  const renewed = openReplica(t, database, { objects, clock }, { catalog: catalogOf(['alpha', 'beta']) });
  await renewed.provisioning.sweep(never);
  t.is(await renewed.skills.read(TENANT, 'alpha'), skillText('alpha', 'half uploaded'));
  t.like(await renewed.skills.list(TENANT), [
    { name: 'alpha', userModified: true },
    { name: 'beta', userModified: false },
  ]);
  t.deepEqual(await keysOf(objects), ['SOUL.md', 'skills.json', 'skills/alpha/SKILL.md']);
  t.deepEqual(renewed.done, ['ok']);
});

test('uploads go on while a tenant is looked after, and none is lost', async (t) => {
  const database = await openTable(t);
  const replica = openReplica(t, database);
  await giveCopies(replica, NAMES);
  const { provisioning, skills } = replica;
  const uploads = ['own', 'builtin-03', 'builtin-24'];
  await Promise.all([
    provisioning.sweep(never),
    ...uploads.map((name) => skills.write(TENANT, name, skillText(name, 'mine'))),
  ]);
  for (const name of uploads) t.is(await skills.read(TENANT, name), skillText(name, 'mine'));
  t.is((await skills.list(TENANT)).length, NAMES.length + 1);
});

test('a deleted or unknown tenant gets nothing', async (t) => {
  const database = await openTable(t);
  const { provisioning, services, done } = openReplica(t, database, {}, { live: [OTHER] });
  await provisioning.sweep(never);
  await provisioning.provision(OTHER, never);
  await provisioning.provision('unknown', never);
  t.deepEqual(done, []);
  t.deepEqual((await services.objects.all().list('')).objects, []);
});

test('a store that is away fails the sweep once, not every tenant', async (t) => {
  const database = await openTable(t);
  const { store } = mortal(memoryObjects(systemClock), 0);
  const { provisioning, done } = openReplica(t, database, { objects: store }, { live: [TENANT, 'b', 'c'] });
  await t.throwsAsync(provisioning.sweep(never), { code: 'objects.unavailable' });
  t.deepEqual(done, []);
});

test('a thousand tenants share what they have not changed, and one that fails does not stop the others', async (t) => {
  const database = await openTable(t);
  const objects = memoryObjects(systemClock);
  await objects.forTenant('bad').put('skills.json', '{"version":2}');
  const live = ['bad', ...Array.from({ length: 1005 }, (_, index) => `t${index}`)];
  const catalog = readCatalog(BUILTIN_FOLDER);
  const { provisioning, skills, done, logged } = openReplica(t, database, { objects }, { live, catalog });
  await provisioning.sweep(never);
  t.deepEqual([done.filter((result) => result === 'ok').length, done.length], [1005, 1006]);
  t.like(logged[0], { tenant_id: 'bad' });
  t.is((await skills.list('t1004')).length, catalog.skills.size);
  t.is(await skills.list('t1004'), await skills.list('t0'), 'in memory, too');
  let bytes = 0;
  for (const id of live.slice(1)) {
    const { objects: stored } = await objects.forTenant(id).list('');
    if (stored.length !== 2) t.fail(`${id} has ${stored.length} objects`);
    for (const { size } of stored) bytes += size;
  }
  t.true(bytes < live.length * 4096, `SOUL.md and the manifest: ${bytes} bytes`);
});

test('where nobody is due sweeps look at the newest tenants, and now and then at all of them', async (t) => {
  const database = await openTable(t);
  const clock = manualClock();
  const objects = memoryObjects(clock);
  await objects.forTenant('bad').put('skills.json', '{"version":2}');
  const live = [...Array.from({ length: 1005 }, (_, index) => `t${index}`), 'bad'];
  const { provisioning, done, pages } = openReplica(t, database, { objects, clock }, { live });
  const sweep = async (after: number) => {
    clock.advance(after);
    pages.length = done.length = 0;
    await provisioning.sweep(never);
    return [pages.join(''), done.length];
  };
  t.deepEqual(await sweep(0), ['012', 1006]);
  // Before the second attempt of the one that failed, at it, and between it and the third one.
  t.deepEqual(await sweep(1_000), ['012', 0]);
  t.deepEqual(await sweep(5_000), ['0', 0]);
  t.deepEqual(await sweep(25_000), ['012', 1]);
  t.deepEqual(await sweep(1_000), ['012', 0]);
  live.unshift('new');
  t.deepEqual(await sweep(1_000), ['01', 1], 'a new one');
  await objects.forTenant('bad').delete('skills.json');
  t.deepEqual(await sweep(60_000), ['012', 1]);
  t.deepEqual(await sweep(1_000), ['012', 0]);
  t.deepEqual(await sweep(599_000), ['0', 0]);
  t.deepEqual(await sweep(1_000), ['012', 0]);
});

test('without object storage nothing is done', async (t) => {
  const database = await openTable(t);
  const objects = { ...memoryObjects(systemClock), available: false };
  const { provisioning, done } = openReplica(t, database, { objects });
  await provisioning.sweep(never);
  await provisioning.kick(TENANT);
  await provisioning.provision(TENANT, never);
  t.deepEqual(done, []);
});

test('a kick reaches some replica', async (t) => {
  const database = await openTable(t);
  const { provisioning, services, done } = openReplica(t, database);
  const consumer = services.hints.listen(SkillProvisioning, ({ tenant_id }, { signal }) =>
    provisioning.provision(tenant_id, signal),
  );
  await provisioning.kick(TENANT);
  await until(() => done.length === 1);
  t.deepEqual(done, ['ok']);
  await consumer.stop(1000);
});

test('a tenant that another replica is at is left to it', async (t) => {
  const database = await openTable(t);
  const leases = { tryAcquire: async () => 'held' } as unknown as Leases;
  const { provisioning, done } = openReplica(t, database, { leases });
  await provisioning.provision(TENANT, never);
  t.deepEqual(done, []);
});

test('a tenant that waits for another writer of its skills stays due when the work is stopped', async (t) => {
  const database = await openTable(t);
  const { provisioning, services, done } = openReplica(t, database);
  await using _held = await services.leases.acquire(`skills:${TENANT}`, { strict: true });
  const stop = new AbortController();
  const working = provisioning.provision(TENANT, stop.signal);
  // SOUL.md comes before the skills.
  const { objects } = services;
  await until(async () => (await objects.forTenant(TENANT).list('')).objects.length > 0);
  stop.abort();
  await working;
  t.deepEqual(done, []);
  t.is(await findState(database.forTenant(TENANT)), undefined);
});
