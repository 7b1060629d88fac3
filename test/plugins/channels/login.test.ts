import { createHmac } from 'node:crypto';
import test from 'ava';
import { eachGatewayDatabase } from '../../support/databases.ts';
import {
  APPS,
  BINDINGS,
  Browser,
  channelEnv,
  HASH_SECRET,
  linkOf,
  makeApp,
  messengerOf,
  PLATFORMS,
  startChannels,
} from './channel-kit.ts';

for (const platform of PLATFORMS) {
  eachGatewayDatabase(
    test,
    `${platform}: a link leads to the messenger and back to a session`,
    async (t, fresh) => {
      const messenger = await messengerOf(t, platform);
      const gateway = await startChannels(t, {
        env: { ...channelEnv({ [platform]: messenger }), ...fresh.environment },
      });
      t.is(await gateway.gateway.services.database.schemaDrift(), '');
      const tenant = await gateway.makeTenant();
      const app = await makeApp(gateway, platform, messenger, { tenant_id: tenant.id });
      t.is(app.tenant_id, tenant.id);
      const browser = new Browser();
      const page = await browser.logIn(`${await linkOf(gateway, app)}&return_to=/chat%3Fa%3D1`, gateway);
      t.is(page.status, 302, JSON.stringify(page.body));
      t.is(page.location, '/chat?a=1');

      const me = await browser.open('/v1/me', gateway.url);
      t.is(me.status, 200);
      const { bindings: _, ...listed } = (await gateway.request(BINDINGS, { token: tenant.token })).body;
      const [binding] = listed.channel_bindings;
      t.deepEqual(me.body, {
        identity: binding.user_id,
        tenant_id: tenant.id,
        roles: ['user'],
        scopes: ['read', 'write', 'execute'],
        auth_method: 'channel_session',
      });
      const hash = createHmac('sha256', HASH_SECRET).update(`${platform}\0${messenger.appKey}\0ou_anna`);
      t.like(listed, { total: 1, limit: 50, offset: 0 });
      t.like(binding, {
        tenant_id: tenant.id,
        channel_app_id: app.id,
        platform,
        provider_user_hash: hash.digest('hex'),
        revoked_at: null,
      });
      t.deepEqual(Object.keys(binding).sort(), [
        'channel_app_id',
        'created_at',
        'id',
        'last_login_at',
        'platform',
        'provider_user_hash',
        'revoked_at',
        'tenant_id',
        'user_id',
      ]);
      t.is((await browser.open('/admin/v1/channel-apps', gateway.url)).status, 403);

      const again = new Browser();
      t.is((await again.logIn(await linkOf(gateway, app), gateway)).location, '/');
      t.is((await again.open('/v1/me', gateway.url)).body.identity, binding.user_id, 'he is who he was');
      messenger.user = 'ou_ben';
      const other = new Browser();
      await other.logIn(await linkOf(gateway, app), gateway);
      t.not((await other.open('/v1/me', gateway.url)).body.identity, binding.user_id);
      t.is((await gateway.request(BINDINGS)).body.total, 2);
      t.is((await gateway.request(APPS)).body.channel_apps[0].id, app.id);
    },
  );
}

for (const [publicUrl, secure, isTold] of [
  ['http://gateway.example', 'true', true],
  ['http://gateway.example', 'false', false],
  ['https://gateway.example', 'true', false],
  ['http://localhost:8080', 'true', false],
] as const) {
  test(`with ${publicUrl} and SAAS_COOKIE_SECURE=${secure} the log says ${isTold ? 'that no login can succeed' : 'nothing'}`, async (t) => {
    const env = { ...channelEnv({}), SAAS_PUBLIC_URL: publicUrl, SAAS_COOKIE_SECURE: secure };
    const gateway = await startChannels(t, { env });
    const isSaid = gateway.logs().some((line) => line.includes('SAAS_COOKIE_SECURE=false'));
    t.is(isSaid, isTold);
  });
}
