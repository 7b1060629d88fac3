import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { GatewayError } from '../../../../../foundation/base/gateway-error.ts';
import { ObjectErrors } from '../../../../../foundation/objects/object-errors.ts';
import type { ObjectSpace, Objects } from '../../../../../foundation/objects/objects.ts';
import { SkillsChanged } from '../../../../../plugins/records/contract.ts';
import { manualClock, memoryObjects } from '../../../../../testing/index.ts';
import { until } from '../../../../support/until.ts';
import { catalogOf, OTHER, openSkills, skillText, TENANT } from './kit.ts';
import { eachStore, lostLeases } from './stores.ts';

const BUILTIN = catalogOf(['alpha', 'beta']);

/** Object storage in which one tenant's space does some things differently. */
function objectsWith(objects: Objects, change: (space: ObjectSpace) => Partial<ObjectSpace>): Objects {
  return {
    ...objects,
    forTenant: (tenantId) => {
      const space = objects.forTenant(tenantId);
      return { ...space, ...change(space) };
    },
  };
}

eachStore(test, 'a skill is uploaded, listed, read byte by byte, replaced and deleted', async (t, store) => {
  const replica = { objects: await store.open(), leases: store.leases };
  const { skills } = openSkills(t, replica);
  t.deepEqual(await skills.list(TENANT), []);
  const text = `${skillText('my-skill')}\r\n\ttabs, 🍵 and \u2028\n\n`;
  const summary = {
    name: 'my-skill',
    description: 'About my-skill',
    version: '1.0.0',
    source: 'user',
    userModified: true,
  };
  t.deepEqual(await skills.write(TENANT, 'my-skill', text), summary);
  t.deepEqual(await skills.list(TENANT), [summary]);
  t.is(await skills.read(TENANT, 'my-skill'), text);
  const { skills: elsewhere } = openSkills(t, { objects: await store.open(), leases: store.leases });
  t.is(await elsewhere.read(TENANT, 'my-skill'), text);
  await skills.write(TENANT, 'my-skill', skillText('my-skill', 'x', '2.0.0'));
  t.like(await skills.list(TENANT), [{ version: '2.0.0' }]);
  await t.throwsAsync(skills.read(OTHER, 'my-skill'), { code: 'skill.not-found' });
  await skills.remove(TENANT, 'my-skill');
  t.deepEqual(await skills.list(TENANT), []);
  await t.throwsAsync(skills.read(TENANT, 'my-skill'), { code: 'skill.not-found' });
  await t.throwsAsync(skills.remove(TENANT, 'my-skill'), { code: 'skill.not-found' });
  const left = await replica.objects.forTenant(TENANT).list('');
  t.deepEqual(
    left.objects.map(({ key }) => key),
    ['skills.json'],
  );
});

/** As clients do: on a busy machine a dozen writers may wait for each other longer than one of them is let wait. */
async function patiently(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof GatewayError && error.code === 'lock.timeout')) throw error;
    }
  }
}

eachStore(test, 'writers on several replicas lose nothing', async (t, store) => {
  const replicas = await Promise.all(
    Array.from({ length: 3 }, async () =>
      openSkills(t, { objects: await store.open(), leases: store.leases }),
    ),
  );
  const names = Array.from({ length: 12 }, (_, index) => `skill-${index}`);
  await Promise.all(
    names.map((name, index) =>
      patiently(() => replicas[index % 3]!.skills.write(TENANT, name, skillText(name))),
    ),
  );
  await Promise.all(
    names
      .slice(0, 4)
      .map((name, index) => patiently(() => replicas[(index + 1) % 3]!.skills.remove(TENANT, name))),
  );
  const { skills: fresh } = openSkills(t, { objects: await store.open(), leases: store.leases });
  const listed = (await fresh.list(TENANT)).map(({ name }) => name);
  t.deepEqual(listed, names.slice(4).sort());
  for (const name of listed) t.is(await fresh.read(TENANT, name), skillText(name));
});

test('where every lease is lost, no writer overwrites the manifest of another', async (t) => {
  const objects = memoryObjects(systemClock);
  const replicas = [0, 1].map(() => openSkills(t, { objects, leases: lostLeases }));
  const names = Array.from({ length: 6 }, (_, index) => `skill-${index}`);
  await Promise.all(
    names.map((name, index) => replicas[index % 2]!.skills.write(TENANT, name, skillText(name))),
  );
  const { skills } = openSkills(t, { objects });
  t.deepEqual(
    (await skills.list(TENANT)).map(({ name }) => name),
    names,
  );
});

test('a write whose answer was lost counts once: an upload, and a delete', async (t) => {
  const real = memoryObjects(systemClock);
  let loses = false;
  const objects = objectsWith(real, (space) => ({
    async put(key, body, options) {
      const info = await space.put(key, body, options);
      if (!loses || key !== 'skills.json') return info;
      loses = false;
      // The store's client sends it again, and is told that the version is another one now.
      throw ObjectErrors.changed();
    },
  }));
  const { skills } = openSkills(t, { objects });
  loses = true;
  await skills.write(TENANT, 'alpha', skillText('alpha'));
  t.is((await skills.list(TENANT)).length, 1);
  loses = true;
  await skills.remove(TENANT, 'alpha');
  t.false(loses);
  t.deepEqual(await skills.list(TENANT), []);
});

test('a list amid the first upload of a tenant finds nothing damaged', async (t) => {
  const real = memoryObjects(systemClock);
  let amid: Promise<unknown> | undefined;
  const objects = objectsWith(real, (space) => ({
    async put(key, body, options) {
      const isFirst = key === 'skills.json' && amid === undefined;
      if (isFirst) {
        amid = skills.list(TENANT);
        // It has read the objects when it waits for the lock.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return space.put(key, body, options);
    },
  }));
  const { skills, logged } = openSkills(t, { objects });
  await skills.write(TENANT, 'alpha', skillText('alpha'));
  t.like(await amid, [{ name: 'alpha' }]);
  t.deepEqual(logged, []);
});

test('of an upload that was refused nothing stays', async (t) => {
  const { skills, services } = openSkills(t);
  const mega = `${skillText('alpha')}${'x'.repeat(1024 * 1024)}`;
  await t.throwsAsync(skills.write(TENANT, 'alpha', mega), { code: 'skill.too-large' });
  const error = await t.throwsAsync(skills.write(TENANT, 'alpha', skillText('beta')), {
    code: 'skill.invalid',
  });
  t.like(error, { extras: { errors: [{ pointer: '/body/name' }] } });
  for (const name of ['', '..', 'a/b', 'A', 'a%2fb']) {
    await t.throwsAsync(skills.write(TENANT, name, skillText('alpha')), { code: 'skill.invalid-name' });
    await t.throwsAsync(skills.read(TENANT, name), { code: 'skill.invalid-name' });
    await t.throwsAsync(skills.remove(TENANT, name), { code: 'skill.invalid-name' });
  }
  t.deepEqual((await services.objects.forTenant(TENANT).list('')).objects, []);
  const largest = skillText('alpha').padEnd(1024 * 1024, 'x');
  await t.notThrowsAsync(skills.write(TENANT, 'alpha', largest));
  t.is(await skills.read(TENANT, 'alpha'), largest);
});

test('a tenant has 500 skills at most, and may still replace and delete them', async (t) => {
  const { skills, manifests } = openSkills(t);
  const entry = { description: 'd', version: '1', source: 'user', user_modified: true, sha256: 'x' } as const;
  await manifests.change(TENANT, async () => ({
    manifest: {
      skills: new Map(Array.from({ length: 500 }, (_, i) => [`s${i}`, entry])),
      removed: new Set(),
    },
    result: undefined,
  }));
  await t.throwsAsync(skills.write(TENANT, 'one-more', skillText('one-more')), { code: 'skill.limit' });
  await t.notThrowsAsync(skills.write(TENANT, 's7', skillText('s7')));
  await skills.remove(TENANT, 's8');
  await t.notThrowsAsync(skills.write(TENANT, 'one-more', skillText('one-more')));
  t.is((await skills.list(TENANT)).length, 500);
});

test('a tenant’s own skills are found in the languages of its users, also those without spaces between words', async (t) => {
  const { skills } = openSkills(t);
  const described: Readonly<Record<string, string>> = {
    'chinese-refund': '用于处理客户的退款请求，使用SQL查询订单',
    'chinese-invoice': '为供应商开具发票',
    'japanese-refund': '返金の依頼を処理するときに使う',
    'thai-refund': 'ใช้สำหรับการคืนเงินให้ลูกค้า',
    'hindi-refund': 'ग्राहक को धनवापसी देने के लिए',
  };
  for (const [name, description] of Object.entries(described))
    await skills.write(TENANT, name, skillText(name).replace(`About ${name}`, description));
  const found = async (query: string) => (await skills.find(TENANT, query)).map(({ name }) => name);
  t.deepEqual(await found('我想退款，怎么办'), ['chinese-refund']);
  t.deepEqual(await found('请帮我开发票'), ['chinese-invoice']);
  t.deepEqual(await found('write a SQL statement'), ['chinese-refund'], 'words of other scripts stay words');
  t.deepEqual(await found('返金してほしい'), ['japanese-refund']);
  t.deepEqual(await found('ขอคืนเงินหน่อย'), ['thai-refund']);
  t.deepEqual(await found('मुझे धनवापसी चाहिए'), ['hindi-refund']);
});

test('a built-in skill is there without being stored, and is the tenant’s to change and to delete', async (t) => {
  const { skills, manifests, services } = openSkills(t, {}, BUILTIN);
  const stored = async () =>
    (await services.objects.forTenant(TENANT).list('')).objects.map(({ key }) => key);
  const builtin = { version: '1.0.0', source: 'builtin', userModified: false } as const;
  t.deepEqual(await skills.list(TENANT), [
    { name: 'alpha', description: 'About alpha', ...builtin },
    { name: 'beta', description: 'About beta', ...builtin },
  ]);
  t.is(await skills.read(TENANT, 'alpha'), skillText('alpha'));
  t.deepEqual(await stored(), []);
  await skills.write(TENANT, 'alpha', skillText('alpha', 'mine'));
  t.deepEqual(await stored(), ['skills.json', 'skills/alpha/SKILL.md']);
  t.is(await skills.read(TENANT, 'alpha'), skillText('alpha', 'mine'));
  t.is(await skills.read(OTHER, 'alpha'), skillText('alpha'), 'another tenant shares it still');
  await skills.remove(TENANT, 'beta');
  t.deepEqual(await stored(), ['skills.json', 'skills/alpha/SKILL.md']);
  await t.throwsAsync(skills.read(TENANT, 'beta'), { code: 'skill.not-found' });
  await t.throwsAsync(skills.remove(TENANT, 'beta'), { code: 'skill.not-found' });
  t.like(await skills.list(TENANT), [{ name: 'alpha', source: 'builtin', userModified: true }]);
  t.deepEqual([...(await manifests.read(TENANT)).removed], ['beta']);
  t.is((await skills.list(OTHER)).length, 2);
});

test('a built-in skill stays one after an upload, and its deletion is remembered', async (t) => {
  const { skills, manifests } = openSkills(t, {}, catalogOf(['alpha']));
  await skills.write(TENANT, 'alpha', skillText('alpha', 'mine'));
  await skills.write(TENANT, 'own', skillText('own'));
  await skills.remove(TENANT, 'alpha');
  await skills.remove(TENANT, 'own');
  t.deepEqual([...(await manifests.read(TENANT)).removed], ['alpha']);
  await skills.write(TENANT, 'alpha', skillText('alpha', 'again'));
  t.like(await skills.list(TENANT), [{ name: 'alpha', source: 'user', userModified: true }]);
  t.deepEqual([...(await manifests.read(TENANT)).removed], ['alpha']);
});

for (const damage of ['missing', 'damaged', 'half'] as const) {
  test(`a manifest that is ${damage} is put together from the objects, and kept`, async (t) => {
    const first = openSkills(t, {}, BUILTIN);
    const { objects } = first.services;
    const space = objects.forTenant(TENANT);
    await space.put('skills/alpha/SKILL.md', first.catalog.skills.get('alpha')!.text);
    await first.skills.write(TENANT, 'beta', skillText('beta', 'mine'));
    await first.skills.write(TENANT, 'own', skillText('own'));
    await space.put('skills/broken/SKILL.md', 'no front matter');
    await space.put('skills/own/notes.txt', 'of somebody else');
    if (damage === 'missing') await space.delete('skills.json');
    if (damage === 'damaged') await space.put('skills.json', '{"version":1}');
    if (damage === 'half')
      await space.put('skills.json', (await space.text('skills.json', 9999))!.slice(0, 50));
    const { skills, logged } = openSkills(t, { objects }, BUILTIN);
    t.deepEqual(
      (await skills.list(TENANT)).map(({ name, source, userModified }) => [name, source, userModified]),
      [
        ['alpha', 'builtin', false],
        ['beta', 'builtin', true],
        ['own', 'user', true],
      ],
    );
    t.like(logged[0], { skills: 3, skipped: ['broken'] });
    t.true((await space.text('skills.json', 9999))!.includes('"own"'));
    const third = openSkills(t, { objects }, BUILTIN);
    t.is((await third.skills.list(TENANT)).length, 3);
    t.deepEqual(third.logged, []);
  });
}

test('a manifest of a newer version of the gateway is left alone', async (t) => {
  const { skills, services } = openSkills(t);
  const space = services.objects.forTenant(TENANT);
  await space.put('skills.json', '{"version":2}');
  await t.throwsAsync(skills.list(TENANT), { code: 'objects.unavailable' });
  await t.throwsAsync(skills.write(TENANT, 'a', skillText('a')), { code: 'objects.unavailable' });
  t.is(await space.text('skills.json', 99), '{"version":2}');
});

test('a skill whose text cannot be deleted is gone all the same', async (t) => {
  const refuses = (): Promise<never> => Promise.reject(ObjectErrors.unavailable());
  const objects = objectsWith(memoryObjects(systemClock), () => ({ delete: refuses }));
  const { skills, logged } = openSkills(t, { objects });
  await skills.write(TENANT, 'own', skillText('own'));
  await skills.remove(TENANT, 'own');
  t.deepEqual(await skills.list(TENANT), []);
  await t.throwsAsync(skills.read(TENANT, 'own'), { code: 'skill.not-found' });
  t.like(logged[0], { skill: 'own' });
});

test('what another replica changed is seen within a second, or when it tells', async (t) => {
  const clock = manualClock();
  const objects = memoryObjects(clock);
  const [here, there] = [openSkills(t, { objects, clock }), openSkills(t, { objects, clock })];
  t.deepEqual(await here.skills.list(TENANT), []);
  await there.skills.write(TENANT, 'own', skillText('own'));
  t.deepEqual(await here.skills.list(TENANT), []);
  clock.advance(1000);
  t.is((await here.skills.list(TENANT)).length, 1);
  await there.skills.remove(TENANT, 'own');
  here.manifests.forget(TENANT);
  t.deepEqual(await here.skills.list(TENANT), []);
});

test('within a second chats do not read the store again', async (t) => {
  let reads = 0;
  const clock = manualClock();
  const objects = objectsWith(memoryObjects(clock), (space) => ({
    get: (...args) => {
      reads += 1;
      return space.get(...args);
    },
  }));
  const { skills } = openSkills(t, { objects, clock });
  await Promise.all(Array.from({ length: 100 }, () => skills.list(TENANT)));
  await skills.list(TENANT);
  t.is(reads, 1);
});

test('a change is told, a refusal is not', async (t) => {
  const { skills, services } = openSkills(t);
  const heard: string[] = [];
  services.events.on(SkillsChanged, ({ tenant_id }) => void heard.push(tenant_id));
  await t.throwsAsync(skills.remove(TENANT, 'own'));
  await skills.write(TENANT, 'own', skillText('own'));
  await skills.remove(TENANT, 'own');
  await until(() => heard.length === 2);
  t.deepEqual(heard, [TENANT, TENANT]);
});

test('without object storage every use says so', async (t) => {
  const refuse = (): Promise<never> => Promise.reject(ObjectErrors.unavailable());
  const objects = objectsWith(memoryObjects(systemClock), () => ({ get: refuse, put: refuse, text: refuse }));
  const { skills, souls } = openSkills(t, { objects }, catalogOf([]));
  for (const use of [
    skills.list(TENANT),
    skills.read(TENANT, 'a'),
    skills.write(TENANT, 'a', skillText('a')),
    skills.remove(TENANT, 'a'),
    souls.read(TENANT),
    souls.write(TENANT, ''),
  ])
    await t.throwsAsync(use, { code: 'objects.unavailable' });
});

test('a soul is kept as it was written, for its tenant', async (t) => {
  const { souls, services } = openSkills(t);
  const heard: string[] = [];
  services.events.on(SkillsChanged, ({ tenant_id }) => void heard.push(tenant_id));
  t.is(await souls.read(TENANT), undefined);
  await souls.write(TENANT, '# Soul\r\n🍵\n');
  t.is(await souls.read(TENANT), '# Soul\r\n🍵\n', 'one’s own write is seen at once');
  t.is(await souls.read(OTHER), undefined);
  t.is(
    (await services.objects.forTenant(TENANT).head('SOUL.md'))?.contentType,
    'text/markdown; charset=utf-8',
  );
  await until(() => heard.length === 1);
});

test('a soul has 64 KiB at most', async (t) => {
  const { souls } = openSkills(t);
  await t.notThrowsAsync(souls.write(TENANT, 'x'.repeat(65_536)));
  await t.throwsAsync(souls.write(TENANT, 'ü'.repeat(32_769)), { code: 'soul.too-large' });
  t.is((await souls.read(TENANT))?.length, 65_536);
});

test('what another replica wrote is seen within a second, or when it tells', async (t) => {
  const { souls, services } = openSkills(t);
  await souls.read(TENANT);
  await services.objects.forTenant(TENANT).put('SOUL.md', 'other');
  t.is(await souls.read(TENANT), undefined);
  services.clock.advance(1000);
  t.is(await souls.read(TENANT), 'other');
  await services.objects.forTenant(TENANT).put('SOUL.md', 'again');
  souls.forget(TENANT);
  t.is(await souls.read(TENANT), 'again');
});
