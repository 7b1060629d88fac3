import test from 'ava';
import { eachGatewayDatabase, gatewayDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
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

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const APP = { platform: 'feishu', app_key: 'cli_1', app_secret_ref: 'env:A' };

eachGatewayDatabase(test, 'an app is made, listed, changed and deleted', async (t, fresh) => {
  const gateway = await startChannels(t, { env: { ...channelEnv({}), ...fresh.environment } });
  const post = (body: object) => gateway.request(APPS, { method: 'POST', body });
  const patch = (id: string, body: object) => gateway.request(`${APPS}/${id}`, { method: 'PATCH', body });
  const made = await post({ ...APP, webhook_secret_ref: 'file:feishu/webhook' });
  t.is(made.status, 201);
  const { id, created_at: createdAt } = made.body;
  t.deepEqual(made.body, {
    id,
    tenant_id: '00000000-0000-0000-0000-000000000001',
    platform: 'feishu',
    app_key: 'cli_1',
    app_secret_ref: 'env:A',
    oauth_secret_ref: null,
    webhook_secret_ref: 'file:feishu/webhook',
    enabled: true,
    created_at: createdAt,
    updated_at: createdAt,
  });
  t.regex(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const second = await post({ ...APP, platform: 'wecom', app_key: 'ww1:1000002', enabled: false });
  t.is(second.body.enabled, false);

  const list = (await gateway.request(`${APPS}?limit=1`)).body;
  t.deepEqual(list, { channel_apps: [second.body], total: 2, limit: 1, offset: 0 });
  t.deepEqual((await gateway.request(`${APPS}?offset=1`)).body.channel_apps, [made.body]);
  t.is((await gateway.request(`${APPS}?limit=-1`)).status, 400);
  t.is((await gateway.request(`${APPS}?limit=100000`)).body.limit, 500);

  const changed = await patch(id, { webhook_secret_ref: null, oauth_secret_ref: 'env:B', enabled: false });
  t.is(changed.status, 200);
  const { updated_at: updatedAt, ...rest } = changed.body;
  const { updated_at: _, ...before } = made.body;
  t.deepEqual(rest, { ...before, webhook_secret_ref: null, oauth_secret_ref: 'env:B', enabled: false });
  t.true(updatedAt >= createdAt);
  t.like((await patch(id, {})).body, { enabled: false, app_secret_ref: 'env:A' });
  t.is((await patch(id, { app_secret_ref: null })).status, 200, 'there is another one');
  const last = await patch(id, { oauth_secret_ref: null });
  t.deepEqual([last.status, last.body.errors[0].pointer], [400, '/body/app_secret_ref']);

  t.is((await gateway.request(`${APPS}/${id}`, { method: 'DELETE' })).status, 204);
  for (const gone of [id, UNKNOWN, 'no-id', '%00']) {
    const where = `${APPS}/${gone}`;
    const answers = [
      await patch(gone, { enabled: true }),
      await gateway.request(where, { method: 'DELETE' }),
      await gateway.request(`${where}/links`, { method: 'POST' }),
    ];
    t.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404],
      gone,
    );
  }
  t.is((await gateway.request(APPS)).body.total, 1);
  t.is((await post(APP)).status, 201, 'its key is free again');
});

test('a tenant has a hundred apps at most, also of simultaneous ones', async (t) => {
  const gateway = await startChannels(t, { env: channelEnv({}) });
  const all = Array.from({ length: 104 }, (_, n) =>
    gateway.request(APPS, { method: 'POST', body: { ...APP, app_key: `cli_${n}` } }),
  );
  const refused = (await Promise.all(all)).filter(({ status }) => status !== 201);
  t.deepEqual(
    refused.map(({ body }) => body.code),
    Array(4).fill('channel.too-many-apps'),
  );
  t.is((await gateway.request(APPS)).body.total, 100);
});

eachGatewayDatabase(
  test,
  'a platform and key are those of one app, over all tenants, also when two come at once',
  async (t, fresh) => {
    const gateway = await startChannels(t, {
      env: { ...channelEnv({}), ...fresh.environment, SVC_TENANT_SECRETS: 'A' },
    });
    const tenants = [await gateway.makeTenant(), await gateway.makeTenant(), await gateway.makeTenant()];
    const post = (token: string, body: object = APP) =>
      gateway.request(APPS, { method: 'POST', body, token });
    const answers = await Promise.all(tenants.map(({ token }) => post(token)));
    t.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409)!;
    t.deepEqual([refused.body.code, refused.body.errors[0].pointer], ['channel.app-taken', '/body/app_key']);
    t.is((await post(tenants[0]!.token, { ...APP, platform: 'weixin' })).status, 201, 'another platform');
    t.is((await post(tenants[0]!.token, { ...APP, app_key: 'CLI_1' })).status, 201, 'another key');
  },
);

test('bad input is refused with all of its fields, and none of its values', async (t) => {
  const gateway = await startChannels(t, { env: channelEnv({}) });
  const { body: app } = await gateway.request(APPS, { method: 'POST', body: APP });
  const cases: readonly (readonly [
    method: string,
    path: string,
    body: object,
    pointers: readonly string[],
  ])[] = [
    ['POST', APPS, {}, ['/body/platform', '/body/app_key', '/body/app_secret_ref']],
    ['POST', APPS, { ...APP, platform: 'slack' }, ['/body/platform']],
    ['POST', APPS, { ...APP, app_key: '' }, ['/body/app_key']],
    ['POST', APPS, { ...APP, app_key: 'a b' }, ['/body/app_key']],
    ['POST', APPS, { ...APP, app_key: 'a\0b' }, ['/body/app_key']],
    ['POST', APPS, { ...APP, app_key: 'a'.repeat(129) }, ['/body/app_key']],
    ['POST', APPS, { ...APP, platform: 'wecom', app_key: ':7' }, ['/body/app_key']],
    ['POST', APPS, { ...APP, app_secret_ref: 'hunter2' }, ['/body/app_secret_ref']],
    [
      'POST',
      APPS,
      { ...APP, oauth_secret_ref: 'env:', webhook_secret_ref: 'file:' },
      ['/body/oauth_secret_ref', '/body/webhook_secret_ref'],
    ],
    [
      'POST',
      APPS,
      { ...APP, app_secret_ref: 7, oauth_secret_ref: 'hunter2' },
      ['/body/app_secret_ref', '/body/oauth_secret_ref'],
    ],
    ['POST', APPS, { ...APP, enabled: 'yes', app_secret: 'hunter2' }, ['/body/app_secret', '/body/enabled']],
    [
      'PATCH',
      `${APPS}/${app.id}`,
      { app_key: 'cli_2', platform: 'wecom' },
      ['/body/app_key', '/body/platform'],
    ],
    [
      'PATCH',
      `${APPS}/${app.id}`,
      { webhook_secret_ref: 'hunter2', enabled: null },
      ['/body/enabled', '/body/webhook_secret_ref'],
    ],
  ];
  for (const [method, path, body, pointers] of cases) {
    const answer = await gateway.request(path, { method, body });
    t.is(answer.status, 400, JSON.stringify(body));
    const told = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    t.deepEqual(told.sort(), [...pointers].sort(), JSON.stringify(answer.body));
    t.notRegex(JSON.stringify(answer.body), /hunter2/);
  }
  t.is((await gateway.request(APPS)).body.total, 1);
});

eachGatewayDatabase(
  test,
  'whoever administers another tenant sees and changes nothing of this one',
  async (t, fresh) => {
    const messenger = await messengerOf(t, 'feishu');
    const gateway = await startChannels(t, {
      env: { ...channelEnv({ feishu: messenger }), ...fresh.environment },
    });
    const [acme, other] = [await gateway.makeTenant('acme'), await gateway.makeTenant('other')];
    const app = await makeApp(gateway, 'feishu', messenger, { tenant_id: acme.id });
    t.is((await new Browser().logIn(await linkOf(gateway, app), gateway)).status, 302);
    const [binding] = (await gateway.request(BINDINGS, { token: acme.token })).body.channel_bindings;

    for (const [method, path] of [
      ['PATCH', `${APPS}/${app.id}`],
      ['DELETE', `${APPS}/${app.id}`],
      ['POST', `${APPS}/${app.id}/links`],
      ['DELETE', `${BINDINGS}/${binding.id}`],
    ] as const) {
      const body = method === 'PATCH' ? { enabled: false } : undefined;
      const { status } = await gateway.request(path, { method, body, token: other.token });
      t.is(status, 404, `${method} ${path}`);
    }
    for (const query of [
      '',
      `?tenant_id=${acme.id}`,
      `?channel_app_id=${app.id}`,
      '?tenant_id=x',
      '?channel_app_id=x',
    ]) {
      t.is((await gateway.request(`${BINDINGS}${query}`, { token: other.token })).body.total, 0, query);
      if (!query.includes('app_id'))
        t.is((await gateway.request(`${APPS}${query}`, { token: other.token })).body.total, 0, query);
    }
    const foreign = await gateway.request(APPS, {
      method: 'POST',
      token: other.token,
      body: { ...APP, tenant_id: acme.id },
    });
    t.deepEqual([foreign.status, foreign.body.code], [403, 'channel.foreign-tenant']);

    // The operator reaches all of them, by tenant and by app.
    for (const [query, total] of [
      ['', 1],
      [`?tenant_id=${acme.id}`, 1],
      [`?tenant_id=${other.id}`, 0],
      ['?tenant_id=x', 0],
    ]) {
      t.is((await gateway.request(`${APPS}${query}`)).body.total, total, `${query}`);
      t.is((await gateway.request(`${BINDINGS}${query}`)).body.total, total, `${query}`);
    }
    t.is((await gateway.request(`${BINDINGS}?channel_app_id=${app.id}`)).body.total, 1);
    t.is((await gateway.request(`${BINDINGS}?channel_app_id=${UNKNOWN}`)).body.total, 0);
    const nowhere = await gateway.request(APPS, { method: 'POST', body: { ...APP, tenant_id: UNKNOWN } });
    t.deepEqual([nowhere.status, nowhere.body.code], [404, 'tenant.not-found']);
    await gateway.request(`/v1/tenants/${other.id}`, { method: 'DELETE' });
    const gone = await gateway.request(APPS, { method: 'POST', body: { ...APP, tenant_id: other.id } });
    t.deepEqual([gone.status, gone.body.code], [409, 'tenant.deleted']);
    for (const id of [UNKNOWN, 'no-id']) {
      t.is(
        (await gateway.request(`${BINDINGS}/${id}`, { method: 'DELETE' })).body.code,
        'channel.binding-not-found',
      );
    }
  },
);

test('apps and bindings are for who has the scope, to read or to write', async (t) => {
  const gateway = await startChannels(t, { env: channelEnv({}) });
  const { id } = await gateway.makeTenant();
  const { apiKeys } = gateway.gateway.services;
  const key = async (roles: string[], scopes: string[]) =>
    (await apiKeys.create({ tenantId: id, name: 'k', roles, scopes, expiresAt: null, createdBy: null })).key;
  const [reader, writer, platform, user] = [
    await key(['user'], ['channel:read']),
    await key(['user'], ['channel:write']),
    await key(['platform'], ['read']),
    await key(['user'], []),
  ];
  const read = async (token: string) => (await gateway.request(BINDINGS, { token })).status;
  const write = async (token: string) =>
    (await gateway.request(`${APPS}/${UNKNOWN}`, { method: 'DELETE', token })).status;
  t.deepEqual([await read(reader), await write(reader)], [200, 403]);
  t.deepEqual([await read(writer), await write(writer)], [403, 404]);
  t.deepEqual([await read(platform), await write(platform)], [200, 404]);
  t.deepEqual([await read(user), await write(user)], [403, 403]);
});

test('a tenant names only secrets that tenants may name, and takes no other by a change', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const env = {
    ...channelEnv({ feishu: messenger }),
    SVC_TENANT_SECRETS: 'FEISHU_SECRET',
    OTHER_SECRET: 'x',
  };
  const gateway = await startChannels(t, { env });
  const { id, token } = await gateway.makeTenant();
  const body = { ...APP, app_key: messenger.appKey, app_secret_ref: 'env:OTHER_SECRET' };
  const refused = await gateway.request(APPS, { method: 'POST', body, token });
  t.deepEqual([refused.status, refused.body.code], [403, 'secret.refused']);

  const app = await makeApp(gateway, 'feishu', messenger, {
    ...body,
    tenant_id: id,
    app_secret_ref: 'env:FEISHU_SECRET',
  });
  const change = (changes: object, as = token) =>
    gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body: changes, token: as });
  const login = async () => {
    const page = await new Browser().logIn(await linkOf(gateway, app), gateway);
    return page.status === 302 ? 302 : page.body.code;
  };
  t.is((await change({ oauth_secret_ref: 'env:OTHER_SECRET' })).status, 403);
  t.is((await change({ webhook_secret_ref: 'env:FEISHU_SECRET' })).status, 200);
  t.is(await login(), 302, 'the operator’s reference stays his');
  t.is((await change({ oauth_secret_ref: 'env:FEISHU_SECRET' })).status, 200);
  t.is(await login(), 302);
  t.is(
    (await change({ oauth_secret_ref: null, app_secret_ref: 'env:NOT_THERE_YET' }, gateway.token)).status,
    200,
  );
  t.is(await login(), 'channel.secret-unavailable');
});

test('a secret that is bound to a tenant and to the host of a provider is for that tenant, at that provider', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const fresh = await gatewayDatabase(t, 'sqlite');
  const env = { ...channelEnv({ feishu: messenger }), ...fresh?.environment };
  // Entries name tenants, so that these come first.
  const before = await startChannels(t, { env });
  const [mine, other] = [await before.makeTenant(), await before.makeTenant()];
  await before.stop();
  const { host } = new URL(messenger.url);
  const entries = [`${mine.id}@${host}=FEISHU_SECRET`, `${mine.id}@other.example=ELSEWHERE`];
  const gateway = await startChannels(t, { env: { ...env, SVC_TENANT_SECRETS: entries.join(',') } });
  const create = (reference: string, token: string) => {
    const body = { ...APP, app_key: messenger.appKey, app_secret_ref: `env:${reference}` };
    return gateway.request(APPS, { method: 'POST', body, token });
  };
  for (const [title, refused] of [
    ['of another tenant', await create('FEISHU_SECRET', other.token)],
    ['for another host', await create('ELSEWHERE', mine.token)],
  ] as const) {
    t.deepEqual([refused.status, refused.body.code], [403, 'secret.refused'], title);
  }
  const { status, body: app } = await create('FEISHU_SECRET', mine.token);
  t.is(status, 201);
  t.is((await new Browser().logIn(await linkOf(gateway, app), gateway)).status, 302);
});

test('what administrators do is in the audit log by ids, and no secret is in any answer', async (t) => {
  const messenger = await messengerOf(t, 'feishu');
  const gateway = await startChannels(t, { env: channelEnv({ feishu: messenger }) });
  const app = await makeApp(gateway, 'feishu', messenger);
  await new Browser().logIn(await linkOf(gateway, app), gateway);
  const [binding] = (await gateway.request(BINDINGS)).body.channel_bindings;
  await gateway.request(`${BINDINGS}/${binding.id}`, { method: 'DELETE' });
  await gateway.request(`${APPS}/${app.id}`, { method: 'PATCH', body: { enabled: false } });
  await gateway.request(`${APPS}/${app.id}`, { method: 'DELETE' });
  const changes = async () => {
    const { body } = await gateway.request('/v1/audit-logs?limit=500');
    return body.audit_logs
      .flatMap(({ detail }: { detail: { changes?: object } }) => detail.changes ?? [])
      .reverse();
  };
  await until(async () => (await changes()).length === 6);
  t.like(await changes(), [
    { channel_app_id: app.id, enabled: true },
    { channel_app_id: app.id },
    { channel_binding_id: binding.id, platform: 'feishu' },
    { channel_binding_id: binding.id, revoked: true },
    { channel_app_id: app.id, enabled: false, changed: 'enabled' },
    { channel_app_id: app.id, deleted: true },
  ]);
  const all = JSON.stringify((await gateway.request('/v1/audit-logs?limit=500')).body);
  t.false(all.includes(messenger.secret));
  t.notRegex(all, /challenge|code=|state=/);
});
