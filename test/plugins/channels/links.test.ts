import test from 'ava';
import { manualClock } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import {
  APPS,
  BINDINGS,
  Browser,
  channelEnv,
  linkOf,
  makeApp,
  messengerOf,
  type Page,
  PUBLIC_URL,
  startChannels,
} from './channel-kit.ts';

const MINUTE = 60_000;

/** Status and code of a refusal, which must not be kept. */
const refusal = ({ status, body }: Page) => `${status} ${body.code}`;

eachGatewayDatabase(
  test,
  'a link and a state work once and for 10 minutes, also when they come at the same time',
  async (t, fresh) => {
    const clock = manualClock();
    const messenger = await messengerOf(t, 'feishu');
    const env = { ...channelEnv({ feishu: messenger }), ...fresh.environment };
    const gateway = await startChannels(t, { env, clock });
    const { url } = gateway;
    const app = await makeApp(gateway, 'feishu', messenger);
    const made = await gateway.request(`${APPS}/${app.id}/links`, { method: 'POST' });
    t.is(made.status, 201);
    const expected = new URLSearchParams({ app_key: app.app_key, challenge: made.body.challenge });
    t.deepEqual(made.body, {
      url: `${PUBLIC_URL}/auth/channel/feishu/start?${expected}`,
      challenge: made.body.challenge,
      expires_at: new Date(gateway.gateway.services.database.clock.now() + 10 * MINUTE).toISOString(),
    });
    t.regex(made.body.challenge, /^[A-Za-z0-9]{20,128}$/);

    const link = made.body.url.slice(PUBLIC_URL.length);
    const browsers = Array.from({ length: 6 }, () => new Browser());
    const begun = await Promise.all(browsers.map((browser) => browser.open(link, url)));
    const winner = begun.findIndex(({ status }) => status === 302);
    t.deepEqual(begun.map(({ status }) => status).sort(), [302, 400, 400, 400, 400, 400]);
    t.is(refusal(await new Browser().open(link, url)), '400 channel.link-invalid', 'a link works once');
    const state = new URL(begun[winner]!.location).searchParams.get('state') ?? '';
    t.regex(state, /^[A-Za-z0-9]{20,128}$/);
    t.is(
      new URL(begun[winner]!.location).searchParams.get('redirect_uri'),
      `${PUBLIC_URL}/auth/channel/feishu/callback`,
    );

    const browser = browsers[winner]!;
    const { location } = await browser.open(begun[winner]!.location);
    const back = await Promise.all(Array.from({ length: 6 }, () => browser.open(location, url)));
    t.deepEqual(back.map(({ status }) => status).sort(), [302, 400, 400, 400, 400, 400], 'one of them wins');
    t.is(messenger.calls.length, 3, 'the messenger was asked for one of them');
    t.is(refusal(await browser.open(location, url)), '400 channel.state-invalid');

    const old = await linkOf(gateway, app);
    // The clock of a server cannot be moved.
    await fresh.ask('update channel_links set expires_at = created_at');
    t.is(refusal(await new Browser().open(old, url)), '400 channel.link-invalid', 'a link is too old');
    const late = new Browser();
    const { location: page } = await late.open(await linkOf(gateway, app), url);
    const { location: callback } = await late.open(page);
    await fresh.ask('update channel_states set expires_at = link_created_at');
    t.is(refusal(await late.open(callback, url)), '400 channel.state-invalid', 'a login is too old');

    for (const table of ['channel_links', 'channel_states', 'channel_sessions']) {
      const rows = JSON.stringify(await fresh.ask(`select * from ${table}`));
      for (const secret of [
        made.body.challenge,
        state,
        browser.cookies.get('svc_session')!,
        browser.cookies.get('svc_csrf')!,
      ]) {
        t.false(rows.includes(secret), `${table} holds hashes alone`);
      }
    }
    t.false(JSON.stringify(await fresh.ask('select * from channel_bindings')).includes('ou_anna'));
  },
);

test('a state counts in the browser that began, and for its own platform and link', async (t) => {
  const [feishu, weixin] = [await messengerOf(t, 'feishu'), await messengerOf(t, 'weixin')];
  const gateway = await startChannels(t, { env: channelEnv({ feishu, weixin }) });
  const { url } = gateway;
  const app = await makeApp(gateway, 'feishu', feishu);
  const other = await makeApp(gateway, 'weixin', weixin);

  const link = await linkOf(gateway, app);
  for (const foreign of [
    link.replace('/feishu/', '/weixin/').replace(app.app_key, other.app_key),
    link.replace(/challenge=.*/, `challenge=${'0'.repeat(64)}`),
    link.replace(/challenge=.*/, 'challenge=short'),
  ]) {
    t.is(refusal(await new Browser().open(foreign, url)), '400 channel.link-invalid', foreign);
  }
  t.is(
    refusal(await new Browser().open(link.replace(app.app_key, 'cli_other'), url)),
    '404 channel.app-not-found',
  );
  t.is(
    refusal(await new Browser().open(link.replace('feishu', 'slack'), url)),
    '404 channel.platform-not-found',
  );

  const browser = new Browser();
  const began = await browser.open(link, url);
  const { location } = await browser.open(began.location);
  const [cookie] = began.setCookies;
  t.regex(
    cookie!,
    /^svc_login_[0-9a-f]{16}=[0-9a-f]{64}; Path=\/; Max-Age=600; SameSite=Lax; Secure; HttpOnly$/,
  );
  t.is(refusal(await new Browser().open(location, url)), '400 channel.state-invalid', 'another browser');
  const thief = new Browser();
  thief.cookies.set([...browser.cookies.keys()][0]!, '0'.repeat(64));
  t.is(refusal(await thief.open(location, url)), '400 channel.state-invalid', 'a cookie that was made up');
  t.is(
    refusal(await browser.open(location.replace('/feishu/', '/weixin/'), url)),
    '400 channel.state-invalid',
  );
  t.is(
    refusal(await browser.open(location.replace(/state=\w/, 'state=_'), url)),
    '400 channel.state-invalid',
  );
  t.is(refusal(await browser.open('/auth/channel/feishu/callback?code=a', url)), '400 request.invalid');
  t.is(
    refusal(await browser.open('/auth/channel/slack/callback?code=a&state=b', url)),
    '404 channel.platform-not-found',
  );

  // Who says no comes back without a code, and may think again.
  t.is(refusal(await browser.open(location.replace(/code=\w+/, ''), url)), '400 channel.login-denied');
  const page = await browser.open(location, url);
  t.is(page.status, 302, 'none of these has used it up');
  t.is(page.headers.get('cache-control'), 'no-store');
  t.is(page.headers.get('referrer-policy'), 'no-referrer');
  t.deepEqual(
    [...browser.cookies.keys()].sort(),
    ['svc_csrf', 'svc_session'],
    'the cookie of the login is gone',
  );
});

test('looking at a link, or at the way back, with HEAD uses nothing up', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const gateway = await startChannels(t, { env: channelEnv({ feishu: messenger }) });
  const { url } = gateway;
  const link = await linkOf(gateway, await makeApp(gateway, 'feishu', messenger));
  const look = async (browser: Browser, address: string) => {
    const { status, headers, setCookies } = await browser.open(address, url, { method: 'HEAD' });
    t.deepEqual([status, headers.get('allow'), setCookies], [405, 'GET, OPTIONS', []], address);
  };
  const browser = new Browser();
  await look(new Browser(), link);
  /** The query of the record of a look at this route. */
  const recorded = async (route: string): Promise<Record<string, string>> => {
    const action = `HEAD /auth/channel/feishu/${route}`;
    const wanted = `/admin/v1/audit-logs?action=${encodeURIComponent(action)}`;
    await until(async () => (await gateway.request(wanted)).body.total > 0);
    return (await gateway.request(wanted)).body.audit_logs[0].detail.query;
  };
  t.is((await recorded('start')).challenge, '[REDACTED]', 'a link that still works is not in the audit log');
  const { status, location: page } = await browser.open(link, url);
  t.is(status, 302);
  const { location: callback } = await browser.open(page);
  await look(browser, callback);
  t.is((await recorded('callback')).state, '[REDACTED]', 'nor is a state that does');
  t.is(messenger.calls.length, 0);
  t.is((await browser.open(callback, url)).status, 302);
});

test('behind a path of a host, a login that names no place ends at the gateway and not at what is beside it', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const env = { ...channelEnv({ feishu: messenger }), SAAS_PUBLIC_URL: `${PUBLIC_URL}/gateway` };
  const gateway = await startChannels(t, { env });
  const own = (location: string) => location.replace(/^\/gateway/, '');
  const browser = new Browser();
  const link = await linkOf(gateway, await makeApp(gateway, 'feishu', messenger));
  const { location: page } = await browser.open(own(link), gateway.url);
  const { location: callback } = await browser.open(page);
  const { status, location } = await browser.open(own(callback), gateway.url);
  t.deepEqual([status, location], [302, '/gateway/']);
});

test('two logins of one browser do not disturb each other', async (t) => {
  const messenger = await messengerOf(t, 'wecom');
  const gateway = await startChannels(t, { env: channelEnv({ wecom: messenger }) });
  const app = await makeApp(gateway, 'wecom', messenger);
  const browser = new Browser();
  const begun = [
    await browser.open(await linkOf(gateway, app), gateway.url),
    await browser.open(await linkOf(gateway, app), gateway.url),
  ];
  for (const { location } of begun) {
    const confirmed = await browser.open(location);
    t.is((await browser.open(confirmed.location, gateway.url)).status, 302);
  }
});

test('a login never leads to another host', async (t) => {
  const messenger = await messengerOf(t, 'weixin');
  const gateway = await startChannels(t, { env: channelEnv({ weixin: messenger }) });
  const app = await makeApp(gateway, 'weixin', messenger);
  for (const [wanted, path] of [
    ['//evil.example', '/'],
    ['https://evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/a/..//evil.example', '/'],
    ['/chat#top', '/chat#top'],
  ] as const) {
    const query = new URLSearchParams({ return_to: wanted });
    const page = await new Browser().logIn(`${await linkOf(gateway, app)}&${query}`, gateway);
    t.deepEqual([page.status, page.location], [302, path], wanted);
  }
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
  const began = await new Browser().open(await linkOf(gateway, app), gateway.url, { headers });
  t.true(new URL(began.location).searchParams.get('redirect_uri')!.startsWith(PUBLIC_URL));
});

test('an app that is disabled, or whose tenant is deleted, is no way in, at any step', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const gateway = await startChannels(t, { env: channelEnv({ feishu: messenger }) });
  const { url } = gateway;
  const tenant = await gateway.makeTenant();
  const app = await makeApp(gateway, 'feishu', messenger, { tenant_id: tenant.id });
  const enable = (enabled: boolean) =>
    gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body: { enabled }, token: tenant.token });
  /** A link, and a login that has come as far as back from the messenger. */
  const open = async () => {
    const browser = new Browser();
    const began = await browser.open(await linkOf(gateway, app), url);
    const { location } = await browser.open(began.location);
    return { link: await linkOf(gateway, app), finish: () => browser.open(location, url) };
  };

  const disabled = await open();
  t.is((await enable(false)).body.enabled, false);
  t.is(refusal(await new Browser().open(disabled.link, url)), '404 channel.app-not-found');
  t.is(refusal(await disabled.finish()), '404 channel.app-not-found');
  const refused = await gateway.request(`${APPS}/${app.id}/links`, { method: 'POST' });
  t.is(`${refused.status} ${refused.body.code}`, '409 channel.app-disabled');
  await enable(true);
  t.is((await new Browser().logIn(disabled.link, gateway)).status, 302, 'the link was not used up');

  const deleted = await open();
  await gateway.request(`/v1/tenants/${tenant.id}`, { method: 'DELETE' });
  t.is(refusal(await new Browser().open(deleted.link, url)), '404 channel.app-not-found');
  t.is(refusal(await deleted.finish()), '404 channel.app-not-found');
  for (const change of [
    await gateway.request(`${APPS}/${app.id}/links`, { method: 'POST' }),
    await gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body: { enabled: true } }),
  ]) {
    t.is(`${change.status} ${change.body.code}`, '409 tenant.deleted', 'it gets nothing new');
  }

  await gateway.request(`/v1/tenants/${tenant.id}/restore`, { method: 'POST' });
  const gone = await open();
  t.is((await gateway.request(`${APPS}/${app.id}`, { method: 'DELETE' })).status, 204);
  t.is(refusal(await new Browser().open(gone.link, url)), '404 channel.app-not-found');
  t.is(refusal(await gone.finish()), '400 channel.state-invalid');
});

test('without the hash secret, or the public address, nobody logs in, and apps can be set up all the same', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const {
    SVC_CHANNEL_HASH_SECRET: secret = '',
    SAAS_PUBLIC_URL: address = '',
    ...env
  } = channelEnv({ feishu: messenger });
  for (const [title, given] of [
    ['SVC_CHANNEL_HASH_SECRET', { SAAS_PUBLIC_URL: address }],
    ['SAAS_PUBLIC_URL', { SVC_CHANNEL_HASH_SECRET: secret }],
  ] as const) {
    const gateway = await startChannels(t, { env: { ...env, ...given } as Record<string, string> });
    const app = await makeApp(gateway, 'feishu', messenger);
    const link = await gateway.request(`${APPS}/${app.id}/links`, { method: 'POST' });
    const start = await gateway.request('/auth/channel/feishu/start?app_key=a&challenge=b', { token: null });
    const back = await gateway.request('/auth/channel/feishu/callback?code=a&state=b', { token: null });
    for (const { status, body } of [link, start, back]) {
      t.deepEqual([status, body.code], [503, 'channel.not-configured']);
      t.true(body.detail.includes(title));
    }
    t.is((await gateway.request(BINDINGS)).body.total, 0);
  }
  await t.throwsAsync(startChannels(t, { env: { ...env, SVC_CHANNEL_HASH_SECRET: 'too short' } }), {
    message: /SVC_CHANNEL_HASH_SECRET/,
  });
});

test('a failure of the provider, or of the secret, is told without its words, and recorded for the tenant', async (t) => {
  const messenger = await messengerOf(t, 'weixin');
  const gateway = await startChannels(t, { env: channelEnv({ weixin: messenger }) });
  const tenant = await gateway.makeTenant();
  const app = await makeApp(gateway, 'weixin', messenger, { tenant_id: tenant.id });
  const change = (body: object) => gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body });
  messenger.instead = () => ({
    headers: { 'content-type': 'text/plain' },
    body: '{"errcode":-1,"errmsg":"a word of theirs"}',
  });
  const failed = await new Browser().logIn(await linkOf(gateway, app), gateway);
  t.is(refusal(failed), '502 channel.provider-failed');
  messenger.instead = () => ({ body: '{"errcode":40029,"errmsg":"a word of theirs"}' });
  t.is(refusal(await new Browser().logIn(await linkOf(gateway, app), gateway)), '400 channel.code-refused');
  messenger.instead = undefined;
  await change({ app_secret_ref: 'env:NOT_THERE' });
  const secretless = await new Browser().logIn(await linkOf(gateway, app), gateway);
  t.is(refusal(secretless), '503 channel.secret-unavailable');
  await change({ app_secret_ref: 'env:NOT_THERE', oauth_secret_ref: 'env:WEIXIN_SECRET' });
  const page = await new Browser().logIn(await linkOf(gateway, app), gateway);
  t.is(page.status, 302, 'the secret to log in with comes first');
  t.notRegex(JSON.stringify([failed.body, secretless.body]), /a word of theirs|NOT_THERE/);
  t.notRegex(gateway.logs().join(), new RegExp(`a word of theirs|${messenger.secret}`));

  const wanted = '/v1/audit-logs?action=GET%20/auth/channel/weixin/callback';
  const recorded = async () => (await gateway.request(wanted, { token: tenant.token })).body;
  await until(async () => (await recorded()).total === 4);
  const body = await recorded();
  const [{ channel_bindings: bindings }] = [(await gateway.request(BINDINGS)).body];
  const records = body.audit_logs.map((record: Record<string, unknown>) => [
    record.status_code,
    record.error_code,
    record.auth_method,
    record.user_id,
  ]);
  t.deepEqual(records, [
    [302, null, 'channel_session', bindings[0].user_id],
    [503, 'channel.secret-unavailable', 'channel_session', ''],
    [400, 'channel.code-refused', 'channel_session', ''],
    [502, 'channel.provider-failed', 'channel_session', ''],
  ]);
  t.like(body.audit_logs[0].detail.changes, { channel_binding_id: bindings[0].id, platform: 'weixin' });
  const metrics = (await gateway.request('/metrics')).body;
  for (const [result, count] of [
    ['success', 1],
    ['refused', 1],
    ['failed', 2],
  ]) {
    t.true(
      metrics.includes(`svc_channel_logins_total{platform="weixin",result="${result}"} ${count}`),
      `${result}`,
    );
  }
});
