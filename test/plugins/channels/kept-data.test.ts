import test from 'ava';
import { deleteExpired } from '../../../plugins/channels/store/logins.ts';
import { manualClock } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { eraseFrom, exportedBy, readerPlugin } from '../../support/personal-data.ts';
import {
  APPS,
  BINDINGS,
  Browser,
  channelEnv,
  linkOf,
  makeApp,
  messengerOf,
  startChannels,
} from './channel-kit.ts';

const never = new AbortController().signal;

eachGatewayDatabase(
  test,
  'users of channels are in exports and deletions, one alone or the tenant whole',
  async (t, fresh) => {
    const reader = readerPlugin();
    const messenger = await messengerOf(t, 'feishu');
    const clock = manualClock();
    const env = { ...channelEnv({ feishu: messenger }), ...fresh.environment };
    const gateway = await startChannels(t, { env, clock, plugins: [reader.plugin] });
    const { database } = gateway.gateway.services;
    const data = reader.contribution('channels');
    const exported = async (tenantId: string, userId?: string, signal?: AbortSignal) =>
      (await exportedBy(data, { tenantId, userId }, signal)).map(({ section, record }) => [
        section,
        record.user_id ?? record.app_key,
      ]);
    const erase = (tenantId: string, userId?: string) => eraseFrom(database, data, { tenantId, userId });

    const [acme, other] = [await gateway.makeTenant(), await gateway.makeTenant()];
    const app = await makeApp(gateway, 'feishu', messenger, { tenant_id: acme.id });
    await makeApp(gateway, 'weixin', { appKey: 'wx-other' }, { tenant_id: other.id });
    const [anna, ben] = [new Browser(), new Browser()];
    await anna.logIn(await linkOf(gateway, app), gateway);
    messenger.user = 'ou_ben';
    await ben.logIn(await linkOf(gateway, app), gateway);
    await linkOf(gateway, app);
    await new Browser().open(await linkOf(gateway, app), gateway.url);
    const identity = async (browser: Browser) => (await browser.open('/v1/me', gateway.url)).body.identity;
    const [annaId, benId] = [await identity(anna), await identity(ben)];

    t.deepEqual(await exported(acme.id, annaId), [
      ['channel_bindings', annaId],
      ['channel_sessions', annaId],
    ]);
    t.is((await exported(acme.id)).length, 5);
    t.deepEqual((await exported(acme.id)).at(-1), ['channel_apps', messenger.appKey]);
    for (const nobody of ['', 'nobody', "'; --", '\0', 'x'.repeat(1_000)])
      t.deepEqual(await exported(acme.id, nobody), []);
    t.deepEqual(await exported(other.id, annaId), []);
    t.deepEqual(await exported(acme.id, undefined, AbortSignal.abort()), []);

    t.deepEqual(await erase(other.id, annaId), { channel_bindings: 0, channel_sessions: 0 });
    t.deepEqual(await erase(acme.id, 'nobody'), {});
    t.deepEqual(await erase(acme.id, annaId), { channel_bindings: 1, channel_sessions: 1 });
    clock.advance(1_000);
    t.is((await anna.open('/v1/me', gateway.url)).status, 401);
    t.is(await identity(ben), benId);
    messenger.user = 'ou_anna';
    await anna.logIn(await linkOf(gateway, app), gateway);
    t.not(await identity(anna), annaId, 'she is somebody new');

    t.deepEqual(await erase(acme.id), { channel_apps: 1, channel_bindings: 2, channel_sessions: 2 });
    t.deepEqual(await exported(acme.id), []);
    for (const table of ['channel_links', 'channel_states', 'channel_sessions', 'channel_bindings']) {
      t.is((await fresh.ask(`select * from ${table}`)).length, 0, table);
    }
    t.is((await gateway.request(APPS)).body.total, 1, 'that of the other tenant');
    t.is((await gateway.request(BINDINGS)).body.total, 0);
  },
);

eachGatewayDatabase(
  test,
  'what has expired is removed, of all tenants and in batches, and nothing else',
  async (t, fresh) => {
    const messenger = await messengerOf(t, 'wecom');
    const env = { ...channelEnv({ wecom: messenger }), ...fresh.environment };
    const gateway = await startChannels(t, { env });
    const { database } = gateway.gateway.services;
    const rows = async (table: string) =>
      Number((await fresh.ask(`select count(*) as n from ${table}`))[0]!.n);
    const counts = async () => [
      await rows('channel_links'),
      await rows('channel_states'),
      await rows('channel_sessions'),
    ];
    const tenant = await gateway.makeTenant();
    const app = await makeApp(gateway, 'wecom', messenger, { tenant_id: tenant.id });
    await new Browser().logIn(await linkOf(gateway, app), gateway);
    await new Browser().open(await linkOf(gateway, app), gateway.url);
    const values = Array.from(
      { length: 1_200 },
      (_, index) => [`${index}`.padStart(64, '0'), app.id] as const,
    );
    const { LinkTable } = await import('../../../plugins/channels/store/tables.ts');
    const at = new Date(database.clock.now());
    await database.forTenant(tenant.id).insertMany(
      LinkTable,
      values.map(([id, channelAppId]) => ({ id, channelAppId, createdAt: at, expiresAt: at })),
    );
    await linkOf(gateway, app);
    const removeExpired = (signal: AbortSignal, later = 0) =>
      deleteExpired(database, new Date(database.clock.now() + later), signal);
    t.deepEqual(await counts(), [1_201, 1, 1]);
    await removeExpired(AbortSignal.abort());
    t.deepEqual(await counts(), [1_201, 1, 1]);
    await removeExpired(never);
    t.deepEqual(await counts(), [1, 1, 1]);
    await removeExpired(never, 600_000);
    t.deepEqual(await counts(), [0, 0, 1]);
    await removeExpired(never, 8 * 3_600_000);
    t.deepEqual(await counts(), [0, 0, 0]);
    t.is(await rows('channel_bindings'), 1);
  },
);
