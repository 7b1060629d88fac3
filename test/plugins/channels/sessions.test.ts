import test, { type ExecutionContext } from 'ava';
import runtime from '../../../plugins/runtime/plugin.ts';
import { manualClock } from '../../../testing/index.ts';
import type { TestGateway, TestGatewayOptions } from '../../../testing/start-test-gateway.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import type { FakeMessenger } from '../../support/fake-messenger.ts';
import { until } from '../../support/until.ts';
import { PROTOS, SERVICES } from '../runtime/grpc-kit.ts';
import {
  APPS,
  type App,
  BINDINGS,
  Browser,
  channelEnv,
  linkOf,
  makeApp,
  messengerOf,
  startChannels,
} from './channel-kit.ts';

interface Place {
  readonly gateway: TestGateway;
  readonly messenger: FakeMessenger;
  readonly app: App;
  readonly tenant: { readonly id: string; readonly token: string };
  /** A browser that is logged in. */
  enter(): Promise<Browser>;
  status(browser: Browser, path?: string, init?: RequestInit): Promise<number>;
}

async function start(t: ExecutionContext, { env, ...options }: TestGatewayOptions = {}): Promise<Place> {
  const messenger = await messengerOf(t, 'feishu');
  const gateway = await startChannels(t, {
    ...options,
    env: { ...channelEnv({ feishu: messenger }), ...env },
  });
  const tenant = await gateway.makeTenant();
  const app = await makeApp(gateway, 'feishu', messenger, { tenant_id: tenant.id });
  return {
    gateway,
    messenger,
    app,
    tenant,
    async enter() {
      const browser = new Browser();
      const { status, body } = await browser.logIn(await linkOf(gateway, app), gateway);
      if (status !== 302) throw new Error(JSON.stringify(body));
      return browser;
    },
    status: async (browser, path = '/v1/me', init = {}) =>
      (await browser.open(path, gateway.url, init)).status,
  };
}

const write = (headers: Record<string, string> = {}): RequestInit => ({
  method: 'PUT',
  body: '{"value": "green"}',
  headers: { 'content-type': 'application/json', ...headers },
});
const MEMORY = '/v1/memories/tea';

test('what a session is answered is not kept by the browser, whose button back would show it after a logout', async (t) => {
  const { gateway, enter } = await start(t);
  const browser = await enter();
  for (const path of ['/v1/me', '/v1/sessions']) {
    const { status, headers } = await browser.open(path, gateway.url);
    t.is(status, 200, path);
    t.is(headers.get('cache-control'), 'no-store', path);
  }
  const { headers } = await gateway.request('/v1/sessions');
  t.is(headers.get('cache-control'), null);
});

for (const [secure, mark] of [
  [undefined, ' Secure;'],
  ['true', ' Secure;'],
  ['false', ''],
] as const) {
  test(`cookies are as they have to be, with SAAS_COOKIE_SECURE ${secure ?? 'unset'}`, async (t) => {
    const { gateway, app } = await start(t, {
      env: secure === undefined ? {} : { SAAS_COOKIE_SECURE: secure },
    });
    const browser = new Browser();
    const page = await browser.logIn(await linkOf(gateway, app), gateway);
    const [session, csrf, login] = page.setCookies;
    t.is(page.setCookies.length, 3);
    t.regex(
      session!,
      new RegExp(`^svc_session=[0-9a-f]{64}; Path=/; Max-Age=28800; SameSite=Lax;${mark} HttpOnly$`),
    );
    t.regex(
      csrf!,
      new RegExp(
        `^svc_csrf=[0-9a-f]{64}; Path=/; Max-Age=28800; SameSite=Lax${mark.slice(0, -1) && ';'}${mark.slice(0, -1)}$`,
      ),
    );
    t.regex(
      login!,
      new RegExp(`^svc_login_[0-9a-f]{16}=; Path=/; Max-Age=0; SameSite=Lax;${mark} HttpOnly$`),
    );
    const out = await browser.open('/auth/logout', gateway.url, { method: 'POST', headers: browser.csrf });
    t.is(out.status, 204);
    t.deepEqual(out.setCookies, [
      `svc_session=; Path=/; Max-Age=0; SameSite=Lax;${mark} HttpOnly`,
      `svc_csrf=; Path=/; Max-Age=0; SameSite=Lax${mark === '' ? '' : '; Secure'}`,
    ]);
  });
}

test('what changes something needs the secret of its own session in the header', async (t) => {
  const { enter, gateway, status, tenant } = await start(t);
  const [anna, again] = [await enter(), await enter()];
  t.is(await status(anna, MEMORY, write(anna.csrf)), 200);
  t.is(await status(anna, '/v1/memories'), 200, 'what is read needs none');
  const { svc_csrf: own = '' } = Object.fromEntries(anna.cookies);
  for (const header of [
    undefined,
    '',
    '0'.repeat(64),
    own.slice(1),
    `${own}0`,
    again.cookies.get('svc_csrf')!,
  ]) {
    const headers: Record<string, string> = header === undefined ? {} : { 'x-svc-csrf': header };
    for (const [method, path, body] of [
      ['PUT', MEMORY, '{"value": "green"}'],
      ['POST', '/v1/chat/completions', '{"model": "demo", "messages": []}'],
      ['DELETE', MEMORY, undefined],
    ] as const) {
      const init = { method, body, headers: { 'content-type': 'application/json', ...headers } };
      const page = await anna.open(path, gateway.url, init);
      t.is(page.status, 403, `${method} ${header}`);
      t.is((page.body.code ?? page.body.error.code) as string, 'channel.csrf');
    }
  }
  t.is(await status(anna, '/auth/logout', { method: 'POST' }), 403);
  t.is(await status(anna), 200, 'nobody was logged out');
  // The header alone is nothing, and neither is the cookie that holds it.
  const csrfOnly = new Browser();
  csrfOnly.cookies.set('svc_csrf', own);
  t.is(await status(csrfOnly, MEMORY, write(anna.csrf)), 401);

  const { identity } = (await anna.open('/v1/me', gateway.url)).body;
  const refused = async () => {
    const { body } = await gateway.request('/v1/audit-logs?limit=500', { token: tenant.token });
    return body.audit_logs.filter(({ error_code: code }: { error_code: string }) => code === 'AUTH_FAILED');
  };
  // Logging out is for everybody, and refuses for itself.
  await until(async () => (await refused()).length === 19);
  t.true((await refused()).every(({ user_id }: { user_id: string }) => user_id === identity));
});

test('a session is a user of its tenant, who administers nothing and speaks for nobody else', async (t) => {
  const { enter, gateway, messenger, status } = await start(t);
  const anna = await enter();
  messenger.user = 'ou_ben';
  const ben = await enter();
  const me = (await anna.open('/v1/me', gateway.url)).body;
  t.is(await status(anna, MEMORY, write(anna.csrf)), 200);
  for (const path of [APPS, BINDINGS, '/v1/tenants', '/v1/api-keys', '/v1/audit-logs', '/admin/v1/plugins']) {
    t.is(await status(anna, path), 403, path);
  }
  const asAnna = { 'x-svc-user-id': me.identity };
  const theft = await ben.open('/v1/memories', gateway.url, { headers: asAnna });
  t.deepEqual([theft.status, theft.body.code], [403, 'channel.foreign-user']);
  t.is(await status(anna, '/v1/memories', { headers: asAnna }), 200);
  t.is((await ben.open('/v1/memories', gateway.url)).body.total, 0);
});

test('a session reaches the long-term memory of its own user alone, over HTTP and gRPC', async (t) => {
  const { enter, gateway, messenger } = await start(t, { plugins: [runtime] });
  const anna = await enter();
  messenger.user = 'ou_ben';
  const ben = await enter();
  const me = (await anna.open('/v1/me', gateway.url)).body.identity;
  const post = { method: 'POST', body: JSON.stringify({ user_id: me, content: 'Likes tea' }) };
  const save = async (browser: Browser) => {
    const headers = { 'content-type': 'application/json', ...browser.csrf };
    return (await browser.open('/api/v2/memory/long-term', gateway.url, { ...post, headers })).status;
  };
  const read = async (browser: Browser) =>
    (await browser.open(`/api/v2/memory/long-term?user_id=${me}`, gateway.url)).status;
  t.deepEqual([await save(anna), await read(anna)], [201, 200]);
  t.deepEqual([await save(ben), await read(ben)], [403, 403]);

  const proto = new URL('svc/tool/v1/tool.proto', PROTOS);
  const grpc = gateway.grpc({ proto, service: SERVICES.tool, token: null });
  const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  t.is((await grpc.call('ListTools', {}, { metadata: { cookie } })).code, 'PERMISSION_DENIED');
  t.is((await grpc.call('ListTools', {}, { metadata: { cookie, ...anna.csrf } })).code, 'OK');
});

test('a session ends eight hours after the login, however it was used', async (t) => {
  const clock = manualClock();
  const { enter, status } = await start(t, { clock });
  const anna = await enter();
  clock.advance(8 * 3_600_000 - 1);
  t.is(await status(anna), 200);
  clock.advance(1);
  t.is(await status(anna), 401);
});

test('logging out ends the session, once, and needs none', async (t) => {
  const { enter, gateway, status } = await start(t);
  const [anna, other] = [await enter(), await enter()];
  const copy = new Browser();
  for (const [name, value] of anna.cookies) copy.cookies.set(name, value);
  t.is(await status(anna, '/auth/logout', { method: 'POST', headers: anna.csrf }), 204);
  t.deepEqual([...anna.cookies], []);
  t.is(await status(copy), 401, 'the cookies are worth nothing');
  t.is(await status(copy, '/auth/logout', { method: 'POST' }), 204, 'there is nothing left to protect');
  t.is(await status(new Browser(), '/auth/logout', { method: 'POST' }), 204);
  const foreign = await gateway.request('/auth/logout', { method: 'POST', token: null });
  t.is(foreign.headers.get('set-cookie'), null, 'a form of another site, which comes without the cookie');
  t.is(await status(other), 200, 'another browser of his stays in');
  t.is((await gateway.request('/auth/logout', { token: null })).status, 405);
});

test('a wrong or stale cookie is refused where a credential is needed, and hinders no login', async (t) => {
  const { enter, gateway, app, status } = await start(t);
  for (const value of ['0'.repeat(64), 'short', `'; drop table users`, 'x'.repeat(5_000)]) {
    const browser = new Browser();
    browser.cookies.set('svc_session', value);
    t.is(await status(browser), 401, value.slice(0, 70));
    t.is(await status(browser, '/health/live'), 200);
    t.is((await browser.logIn(await linkOf(gateway, app), gateway)).status, 302);
    t.is(await status(browser), 200);
  }
  const empty = new Browser();
  empty.cookies.set('svc_session', '');
  t.is(await status(empty), 401);

  // Another login in the same browser takes the place of the one before.
  const anna = await enter();
  const before = new Browser();
  for (const [name, value] of anna.cookies) before.cookies.set(name, value);
  t.is((await anna.logIn(await linkOf(gateway, app), gateway)).status, 302);
  t.is(await status(anna), 200);
  t.is(await status(before), 401);
});

test('an Authorization header says who calls, whatever the cookie says', async (t) => {
  const { enter, gateway, status, tenant } = await start(t);
  const anna = await enter();
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  t.is((await anna.open('/v1/me', gateway.url, as(tenant.token))).body.auth_method, 'api_key');
  t.is(await status(anna, MEMORY, write(as(tenant.token).headers)), 200, 'a key needs no other header');
  t.is(await status(anna, '/v1/me', as('hk_wrong')), 401);
  t.is(await status(anna, '/v1/me', as('wrong')), 401);
});

eachGatewayDatabase(
  test,
  'who is revoked is out at once, with all browsers, and back in by a newer link alone',
  async (t, fresh) => {
    const clock = manualClock();
    const { app, enter, gateway, messenger, status, tenant } = await start(t, {
      clock,
      env: { ...fresh.environment },
    });
    const browsers = [await enter(), await enter()];
    messenger.user = 'ou_ben';
    const ben = await enter();
    messenger.user = 'ou_anna';
    for (const browser of [...browsers, ben]) t.is(await status(browser), 200);
    const { body: me } = await browsers[0]!.open('/v1/me', gateway.url);
    const old = [await linkOf(gateway, app), await linkOf(gateway, app)];
    clock.advance(1);
    const { channel_bindings: all } = (await gateway.request(BINDINGS)).body;
    const { id } = all.find(({ user_id }: { user_id: string }) => user_id === me.identity);
    const revoke = () => gateway.request(`${BINDINGS}/${id}`, { method: 'DELETE', token: tenant.token });

    t.is((await revoke()).status, 204);
    for (const browser of browsers) t.is(await status(browser), 401);
    t.is(await status(ben), 200);
    const shown = async () =>
      (await gateway.request(BINDINGS)).body.channel_bindings.find((one: { id: string }) => one.id === id);
    const { revoked_at: revokedAt } = await shown();
    const now = () => new Date(gateway.gateway.services.database.clock.now()).toISOString();
    t.is(revokedAt, now());
    const page = await new Browser().logIn(old[0]!, gateway);
    t.deepEqual([page.status, page.body.code], [403, 'channel.binding-revoked']);
    clock.advance(1);
    t.is((await revoke()).status, 204, 'again');
    t.not((await shown()).revoked_at, revokedAt, 'links of the time in between are void as well');

    clock.advance(1);
    const back = await enter();
    t.is((await back.open('/v1/me', gateway.url)).body.identity, me.identity);
    t.like(await shown(), { revoked_at: null, last_login_at: now() });
    for (const browser of browsers) t.is(await status(browser), 401, 'old sessions stay ended');
  },
);

test('an app that is disabled or deleted, and a tenant that is deleted, end the sessions at once', async (t) => {
  const { app, enter, gateway, status, tenant } = await start(t);
  const change = (enabled: boolean) =>
    gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body: { enabled }, token: tenant.token });
  const disabled = await enter();
  t.is(await status(disabled), 200);
  await change(false);
  t.is(await status(disabled), 401);
  await change(true);
  t.is(await status(disabled), 401, 'they stay ended');

  const orphan = await enter();
  t.is(await status(orphan), 200);
  await gateway.request(`/v1/tenants/${tenant.id}`, { method: 'DELETE' });
  t.is(await status(orphan), 401);
  await gateway.request(`/v1/tenants/${tenant.id}/restore`, { method: 'POST' });
  t.is(await status(orphan), 200, 'as keys do, they come back with their tenant');

  t.is((await gateway.request(`${APPS}/${app.id}`, { method: 'DELETE', token: tenant.token })).status, 204);
  t.is(await status(orphan), 401);
  t.is((await gateway.request(BINDINGS)).body.total, 0);
});

eachGatewayDatabase(
  test,
  'of a login and what takes its ground away at the same time no session is left',
  async (t, fresh) => {
    const { app, enter, gateway, status, tenant } = await start(t, { env: { ...fresh.environment } });
    await enter();
    const { id } = (await gateway.request(BINDINGS)).body.channel_bindings[0];
    const [revoke, disable] = [
      () => gateway.request(`${BINDINGS}/${id}`, { method: 'DELETE', token: tenant.token }),
      () =>
        gateway.request(`${APPS}/${app.id}`, {
          method: 'PATCH',
          body: { enabled: false },
          token: tenant.token,
        }),
    ];
    for (const end of [revoke, disable, revoke, disable]) {
      await gateway.request(`${APPS}/${app.id}`, {
        method: 'PATCH',
        body: { enabled: true },
        token: tenant.token,
      });
      const browsers = Array.from({ length: 4 }, () => new Browser());
      const callbacks = await Promise.all(
        browsers.map(async (browser) => {
          const began = await browser.open(await linkOf(gateway, app), gateway.url);
          return (await browser.open(began.location)).location;
        }),
      );
      const [{ status: ended }] = await Promise.all([
        end(),
        ...browsers.map((browser, index) => browser.open(callbacks[index]!, gateway.url)),
      ]);
      t.true(ended < 300);
      for (const browser of browsers) t.is(await status(browser), 401);
      t.is(Number((await fresh.ask('select count(*) as n from channel_sessions'))[0]!.n), 0);
    }
  },
);
