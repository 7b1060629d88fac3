import test from 'ava';
import type { TenantEntityManager } from '../../../../../foundation/data/database.ts';
import {
  MANIFEST_KEY,
  SOUL_KEY,
  skillKey,
} from '../../../../../plugins/records/services/skills/skill-objects.ts';
import {
  forgetSkills,
  skillReferences,
} from '../../../../../plugins/records/services/skills/tenant-objects.ts';
import { SkillProvisioningEntity } from '../../../../../plugins/records/store/skill-provisionings.ts';
import { catalogOf, OTHER, openSkills, skillText, TENANT } from './kit.ts';

test('an erasure takes skills and SOUL.md of the time before, and the built-in ones come back', async (t) => {
  const { services, manifests, skills, souls } = openSkills(t);
  const { clock, objects } = services;
  for (const tenant of [TENANT, OTHER]) {
    await skills.write(tenant, 'alpha', skillText('alpha', 'Mine.'));
    await skills.write(tenant, 'old', skillText('old'));
    await souls.write(tenant, 'I am old');
  }
  const before = clock.now();
  clock.advance(1_000);
  await skills.write(TENANT, 'new', skillText('new'));
  const kicked: string[] = [];
  const forgotten: unknown[] = [];
  const entities = () =>
    ({ delete: async (entity: unknown) => forgotten.push(entity) }) as unknown as TenantEntityManager;
  const provisioning = { kick: async (tenantId: string) => void kicked.push(tenantId) };
  const work = forgetSkills({ manifests, souls, provisioning });
  const context = { tenantId: TENANT, entities } as unknown as Parameters<typeof work>[1];

  // Again changes nothing more.
  for (let round = 0; round < 2; round += 1) {
    await work({ before }, context);
    const keys = (await objects.forTenant(TENANT).list('')).objects.map(({ key }) => key);
    t.deepEqual(keys.sort(), [MANIFEST_KEY, skillKey('new')].sort());
    t.deepEqual(
      (await skills.list(TENANT)).map(({ name }) => name),
      ['new'],
    );
    t.is(await souls.read(TENANT), undefined);
  }
  t.deepEqual(kicked, [TENANT, TENANT]);
  t.deepEqual(forgotten, [SkillProvisioningEntity, SkillProvisioningEntity], 'all is due again');
  t.deepEqual((await skills.list(OTHER)).map(({ name }) => name).sort(), ['alpha', 'old']);
  t.is(await souls.read(OTHER), 'I am old');
});

test('an erasure that ended between manifest and texts deletes the texts when it is repeated', async (t) => {
  const { services, manifests, skills, souls } = openSkills(t);
  await skills.write(TENANT, 'mine', skillText('mine'));
  const space = services.objects.forTenant(TENANT);
  // A deletion of the tenant's own that lost its last step.
  await space.put(skillKey('deleted'), skillText('deleted'));
  const entities = () => ({ delete: async () => 0 }) as unknown as TenantEntityManager;
  const context = { tenantId: TENANT, entities } as unknown as Parameters<ReturnType<typeof forgetSkills>>[1];
  const before = services.clock.now();
  const dying: typeof manifests.change = (tenantId, work) =>
    manifests.change(tenantId, work, () => Promise.reject(new Error('killed')));
  const parts = { souls, provisioning: { kick: async () => {} } };
  await t.throwsAsync(forgetSkills({ ...parts, manifests: { change: dying } })({ before }, context), {
    message: 'killed',
  });
  t.deepEqual(await skills.list(TENANT), []);
  await forgetSkills({ ...parts, manifests })({ before }, context);
  t.deepEqual(
    (await space.list('')).objects.map(({ key }) => key),
    [MANIFEST_KEY],
  );
});

test('an erasure brings built-in skills back that the tenant had deleted', async (t) => {
  const { services, manifests, skills, souls } = openSkills(t, {}, catalogOf(['alpha', 'beta']));
  const names = async () => (await skills.list(TENANT)).map(({ name }) => name).sort();
  await skills.remove(TENANT, 'alpha');
  await skills.write(TENANT, 'beta', skillText('beta', 'Mine.'));
  await skills.remove(TENANT, 'beta');
  t.deepEqual(await names(), []);
  const entities = () => ({ delete: async () => 0 }) as unknown as TenantEntityManager;
  const work = forgetSkills({ manifests, souls, provisioning: { kick: async () => {} } });
  const context = { tenantId: TENANT, entities } as unknown as Parameters<typeof work>[1];
  await work({ before: services.clock.now() }, context);
  t.deepEqual(await names(), ['alpha', 'beta']);
});

test('an erasure that waits for another writer of the skills ends when it is stopped', async (t) => {
  const { services, manifests, souls } = openSkills(t);
  await using _held = await services.leases.acquire(`skills:${TENANT}`, { strict: true });
  const work = forgetSkills({ manifests, souls, provisioning: { kick: async () => t.fail() } });
  const stop = new AbortController();
  const context = { tenantId: TENANT, signal: stop.signal } as unknown as Parameters<typeof work>[1];
  const working = t.throwsAsync(work({ before: services.clock.now() }, context), { message: 'stopped' });
  stop.abort(new Error('stopped'));
  await working;
});

test('what the manifest names, the manifest and SOUL.md are referred to', async (t) => {
  const { services, manifests, skills } = openSkills(t);
  await skills.write(TENANT, 'kept', skillText('kept'));
  await services.objects.forTenant(TENANT).put(skillKey('lost'), 'x');
  const keys = [skillKey('kept'), skillKey('lost'), MANIFEST_KEY, SOUL_KEY, 'skills/lost/notes.md'];
  const free: string[] = [];
  await skillReferences(manifests).unreferenced(TENANT, keys, async (found) => void free.push(...found));
  t.deepEqual(free, [skillKey('lost')]);
});

for (const damage of ['damaged', 'missing'] as const) {
  test(`what a store that gives garbage hid from a ${damage} manifest is not deleted`, async (t) => {
    const first = openSkills(t);
    const { objects } = first.services;
    await first.skills.write(TENANT, 'hidden', skillText('hidden'));
    const space = objects.forTenant(TENANT);
    const garbage = '<html>Maintenance</html>';
    await space.put(skillKey('hidden'), garbage);
    if (damage === 'damaged') await space.put(MANIFEST_KEY, garbage);
    else await space.delete(MANIFEST_KEY);
    const { manifests, skills } = openSkills(t, { objects });
    t.deepEqual(await skills.list(TENANT), []);
    await skills.write(TENANT, 'later', skillText('later'));
    await skills.write(TENANT, 'brief', skillText('brief'));
    await skills.remove(TENANT, 'brief');

    // The store is well again. The index is still the one of then, in every replica.
    await space.put(skillKey('hidden'), skillText('hidden'));
    const keys = [skillKey('later'), skillKey('hidden')];
    for (const each of [manifests, openSkills(t, { objects }).manifests]) {
      await skillReferences(each).unreferenced(TENANT, keys, async (found) => void t.deepEqual(found, []));
    }
    await space.delete(MANIFEST_KEY);
    const third = openSkills(t, { objects });
    t.deepEqual((await third.skills.list(TENANT)).map(({ name }) => name).sort(), ['hidden', 'later']);
    await space.put(skillKey('lost'), 'x');
    const free: string[] = [];
    const remove = async (found: readonly string[]) => void free.push(...found);
    await skillReferences(third.manifests).unreferenced(TENANT, [...keys, skillKey('lost')], remove);
    t.deepEqual(free, [skillKey('lost')], 'what is rebuilt from good texts alone is complete');
  });
}
