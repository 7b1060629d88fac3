import test from 'ava';
import { SkillsChanged } from '../../../../../plugins/records/contract.ts';
import { until } from '../../../../support/until.ts';
import { OTHER, openSkills, TENANT } from './kit.ts';

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
