import test from 'ava';
import { MemoriesChanged } from '../../../../../plugins/records/contract.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { until } from '../../../../support/until.ts';
import { openMemories } from './kit.ts';

const TENANT = '01900000-0000-7000-8000-000000000001';
const OTHER = '01900000-0000-7000-8000-000000000002';

eachDatabase(test, 'a profile is kept as it was written, by user and tenant', async (t, fresh) => {
  const { profiles, database, services } = await openMemories(t, fresh);
  const heard: string[] = [];
  services.events.on(MemoriesChanged, ({ user_id }) => void heard.push(user_id));
  const entities = database.forTenant(TENANT);
  t.is(await profiles.read(entities, 'ana'), undefined);
  const text = '# Ana\r\n\0 \ud800 🍵\n';
  await profiles.write(entities, 'ana', 'first');
  await profiles.write(entities, 'ana', text);
  t.is(await profiles.read(entities, 'ana'), text);
  t.is(await profiles.read(entities, 'ben'), undefined);
  t.is(await profiles.read(database.forTenant(OTHER), 'ana'), undefined);
  await profiles.write(entities, 'ana', '');
  t.is(await profiles.read(entities, 'ana'), undefined);
  await until(() => heard.length === 3);
});

eachDatabase(test, 'a profile has 16 KiB at most; nothing of a longer one is kept', async (t, fresh) => {
  const { profiles, database } = await openMemories(t, fresh);
  const entities = database.forTenant(TENANT);
  await t.notThrowsAsync(profiles.write(entities, 'ana', 'x'.repeat(16_384)));
  await t.throwsAsync(profiles.write(entities, 'ana', 'ü'.repeat(8193)), { code: 'profile.too-large' });
  t.is((await profiles.read(entities, 'ana'))?.length, 16_384);
  await t.throwsAsync(profiles.write(entities, 'x'.repeat(256), 'text'), { code: 'profile.invalid-user' });
});
