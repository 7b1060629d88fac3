import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity } from 'agent-gateway';
import test from 'ava';
import { createUsers, MAX_USERS } from '../../../plugins/runtime/services/admin/users.ts';
import { UserTable } from '../../../plugins/runtime/store/users.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { shared } from '../../support/shared.ts';
import { until } from '../../support/until.ts';
import { startRecords } from './records-gateway.ts';
import { startRuntime } from './runtime-gateway.ts';

const PATH = '/api/v2/admin/users';
const ANNA = { name: 'Anna \u0000\ud800', email: 'Anna@example.com', role: 'editor' };

const runtime = shared((file) => startRuntime(file));

eachGatewayDatabase(test, 'a user is made with a key, listed, changed and deleted', async (t, fresh) => {
  const gateway = await startRuntime(t, { env: { ...fresh.environment } });
  t.is(await gateway.gateway.services.database.schemaDrift(), '');
  const { token } = await gateway.makeTenant();
  const other = await gateway.makeTenant('other');
  const post = (body: object, as = token) => gateway.request(PATH, { method: 'POST', body, token: as });
  const put = (id: string, body: object, as = token) =>
    gateway.request(`${PATH}/${id}`, { method: 'PUT', body, token: as });
  const read = async (key: string) => (await gateway.request('/api/v2/agents', { token: key })).status;
  const write = async (key: string) => {
    const body = { user_id: 'anna', content: 'Likes tea' };
    return (await gateway.request('/api/v2/memory/long-term', { method: 'POST', body, token: key })).status;
  };
  const administer = async (key: string) => (await gateway.request(PATH, { token: key })).status;

  const made = await post(ANNA);
  t.is(made.status, 201);
  t.is(made.headers.get('cache-control'), 'no-store');
  const { user, api_key: editor } = made.body;
  t.like(user, { ...ANNA, disabled: false });
  t.deepEqual(Object.keys(user).sort(), ['created_at', 'disabled', 'email', 'id', 'name', 'role']);
  t.deepEqual([await read(editor), await write(editor), await administer(editor)], [200, 201, 403]);
  t.is((await post({ ...ANNA, email: 'anna@EXAMPLE.com' })).body.code, 'user.exists');
  t.is((await post(ANNA, other.token)).status, 201, 'addresses are unique in a tenant');

  const viewer = await put(user.id, { role: 'viewer' });
  t.is(viewer.status, 200);
  const { api_key: viewing } = viewer.body;
  t.is(await read(editor), 401, 'the key before is revoked');
  t.deepEqual([await read(viewing), await write(viewing), await administer(viewing)], [200, 403, 403]);
  const renamed = await put(user.id, { name: 'Anna' });
  t.deepEqual([renamed.body.api_key, renamed.body.user.name], [undefined, 'Anna']);
  t.is(await read(viewing), 200);

  const ben = await post({ name: 'Ben', email: 'ben@example.com', role: 'admin' });
  t.is(await administer(ben.body.api_key), 200);
  t.is((await put(ben.body.user.id, { email: 'ANNA@example.com', role: 'viewer' })).body.code, 'user.exists');
  t.is(await administer(ben.body.api_key), 200, 'what is refused takes nothing');
  const list = (await gateway.request(`${PATH}?limit=1`, { token })).body;
  t.like(list, { users: [{ email: 'ben@example.com' }], total: 2, limit: 1, offset: 0 });

  t.is((await put(user.id, { disabled: true })).body.user.disabled, true);
  t.is(await read(viewing), 401);
  const enabled = await put(user.id, { disabled: false });
  t.is(await read(enabled.body.api_key), 200);
  t.is(await read(viewing), 401);

  for (const as of [other.token, gateway.token]) {
    t.is((await put(user.id, { name: 'x' }, as)).status, 404);
    t.is((await gateway.request(`${PATH}/${user.id}`, { method: 'DELETE', token: as })).status, 404);
  }
  t.is((await gateway.request(`${PATH}/${user.id}`, { method: 'DELETE', token })).status, 204);
  t.is(await read(enabled.body.api_key), 401);
  t.is((await put(user.id, { name: 'x' })).status, 404);
  t.is((await gateway.request(`${PATH}/%00`, { method: 'DELETE', token })).status, 404);
});

test('a change takes nothing of the body but what can be changed', async (t) => {
  const gateway = await runtime();
  const { token } = await gateway.makeTenant();
  const send = (method: string, path: string, body: object) => gateway.request(path, { method, body, token });
  const { user, api_key } = (await send('POST', PATH, { ...ANNA, name: 'Anna' })).body;
  const place = `${PATH}/${user.id}`;

  const same = await send('PUT', place, { ...user, disabled: false });
  t.deepEqual([same.status, same.body], [200, { user }], 'the user as it was read');
  const inner = { id: 'other', emailKey: 'nobody', keyId: 'other', createdAt: 0, tenantId: 'other' };
  t.deepEqual((await send('PUT', place, { ...inner, name: 'Anne' })).body, {
    user: { ...user, name: 'Anne' },
  });
  const twin = await send('POST', PATH, { ...ANNA, name: 'Anna' });
  t.is(twin.body.code, 'user.exists', 'the address is still hers');

  const viewer = await send('PUT', place, { ...user, role: 'viewer' });
  t.is(viewer.status, 200);
  t.is((await gateway.request('/api/v2/agents', { token: api_key })).status, 401);
  t.is((await gateway.request('/api/v2/agents', { token: viewer.body.api_key })).status, 200);
});

test('what a rotation made of a user’s key ends with the user, too', async (t) => {
  const gateway = await startRecords(t);
  const { id: tenantId, token } = await gateway.makeTenant();
  const { apiKeys } = gateway.gateway.services;
  const read = async (key: string) => (await gateway.request('/api/v2/agents', { token: key })).status;
  const change = (path: string, method: string, body?: object) =>
    gateway.request(path, { method, token, ...(body && { body }) });
  /**
   * A user whose key another administrator has rotated twice, the raw key that is left, and a key that only looks like
   * it.
   */
  const rotated = async (email: string) => {
    const { user, api_key } = (await change(PATH, 'POST', { ...ANNA, email })).body;
    const { records } = await apiKeys.list({ tenantId, q: user.id, limit: 1, offset: 0 });
    const first = await apiKeys.rotate(records[0]!.id, { tenantId, createdBy: null });
    const { key } = await apiKeys.rotate(first.record.id, { tenantId, createdBy: null });
    t.deepEqual([await read(api_key), await read(first.key), await read(key)], [401, 401, 200]);
    return { id: user.id as string, place: `${PATH}/${user.id}`, key };
  };
  const [disabled, other, deleted, erased] = [
    await rotated('a@example.com'),
    await rotated('b@example.com'),
    await rotated('c@example.com'),
    await rotated('d@example.com'),
  ];
  const grant = { tenantId, roles: ['user'], scopes: [], expiresAt: null, createdBy: null };
  const alike = await apiKeys.create({ ...grant, name: `not user ${disabled.id}` });

  t.is((await change(disabled.place, 'PUT', { disabled: true })).status, 200);
  t.is(await read(disabled.key), 401);
  const viewer = await change(other.place, 'PUT', { role: 'viewer' });
  t.deepEqual([await read(other.key), await read(viewer.body.api_key)], [401, 200]);
  t.is((await change(deleted.place, 'DELETE')).status, 204);
  t.is(await read(deleted.key), 401);
  t.deepEqual(await gateway.erase(tenantId, erased.id, 'runtime-users'), { users: 1 });
  await until(async () => (await read(erased.key)) === 401);
  t.is(await read(alike.key), 200);
});

test('bad input is refused with the names of its fields, and nobody grants a role that he does not have', async (t) => {
  const gateway = await runtime();
  const post = (body: object, token = gateway.token) =>
    gateway.request(PATH, { method: 'POST', body, token });
  for (const [body, pointer] of [
    [{ ...ANNA, email: 'anna' }, '/body/email'],
    [{ ...ANNA, email: 'a b@example.com' }, '/body/email'],
    [{ ...ANNA, role: 'owner' }, '/body/role'],
    [{ ...ANNA, name: '' }, '/body/name'],
  ] as const) {
    const { status, body: problem } = await post(body);
    t.deepEqual([status, problem.errors[0].pointer], [400, pointer]);
  }
  const { id } = await gateway.makeTenant();
  const owner = await gateway.gateway.services.apiKeys.create({
    tenantId: id,
    name: 'owner',
    roles: ['owner'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  });
  const refused = await post({ ...ANNA, role: 'admin' }, owner.key);
  t.deepEqual([refused.status, refused.body.errors[0].pointer], [403, '/body/role']);
  t.is((await post(ANNA, owner.key)).status, 201);
});

test('simultaneous users of one address are one user with one key', async (t) => {
  const gateway = await runtime();
  const { id, token } = await gateway.makeTenant();
  const all = await Promise.all(
    Array.from({ length: 8 }, () => gateway.request(PATH, { method: 'POST', body: ANNA, token })),
  );
  t.deepEqual(all.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
  const { records } = await gateway.gateway.services.apiKeys.list({ tenantId: id, limit: 100, offset: 0 });
  const usable = records.filter(({ name, revokedAt }) => name.startsWith('user ') && revokedAt === null);
  t.is(usable.length, 1);
});

test('a tenant has a thousand users at most, simultaneous ones too', async (t) => {
  const gateway = await runtime();
  const { id: tenantId, token } = await gateway.makeTenant();
  const { apiKeys, database, ids, ...services } = gateway.gateway.services;
  const { list, revoke } = apiKeys;
  const row = (n: number) => ({
    id: ids.uuid(),
    name: '"Anna"',
    email: `a${n}@example.com`,
    emailKey: `a${n}@example.com`,
    role: 'viewer',
    disabled: false,
    keyId: ids.uuid(),
    createdAt: 0,
  });
  const rows = Array.from({ length: MAX_USERS - 2 }, (_, n) => row(n));
  await database.forTenant(tenantId).insertMany(UserTable, rows);
  // Whoever has passed the bound lets the others look at it, too.
  const create: typeof apiKeys.create = async (...wanted) => {
    await sleep(50);
    return apiKeys.create(...wanted);
  };
  const users = createUsers({ ...services, database, ids, apiKeys: { create, list, revoke } });
  const admin = { id: 'admin', tenantId, roles: ['admin'], scopes: ['admin'] } as unknown as Identity;
  const made = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      users.create(admin, tenantId, { ...ANNA, email: `b${n}@example.com`, role: 'viewer', disabled: false }),
    ),
  );
  t.is(made.filter(({ status }) => status === 'fulfilled').length, 2);
  t.is(await database.forTenant(tenantId).count(UserTable), MAX_USERS);
  const more = await gateway.request(PATH, { method: 'POST', body: ANNA, token });
  t.deepEqual([more.status, more.body.code], [409, 'user.too-many']);
});

test('a user who is disabled or gets another role while the own key is replaced has no key of other rights', async (t) => {
  const gateway = await runtime();
  const { id: tenantId, token } = await gateway.makeTenant();
  const { apiKeys, clock, database, ids, leases } = gateway.gateway.services;
  const change = (id: string, body: object) =>
    gateway.request(`${PATH}/${id}`, { method: 'PUT', body, token });
  /** Changes a user while another administrator makes the change `meanwhile`, between the new key and the row. */
  const race = async (id: string, changes: object, meanwhile: object) => {
    let made = '';
    const create: typeof apiKeys.create = async (...wanted) => {
      const key = await apiKeys.create(...wanted);
      t.is((await change(id, meanwhile)).status, 200);
      made = key.key;
      return key;
    };
    const { list, revoke } = apiKeys;
    const users = createUsers({ database, leases, apiKeys: { create, list, revoke }, clock, ids });
    const admin = { id: 'admin', tenantId, roles: ['admin'], scopes: ['admin'] } as unknown as Identity;
    await t.throwsAsync(users.update(admin, tenantId, id, changes), { code: 'user.changed' });
    t.is((await gateway.request('/api/v2/agents', { token: made })).status, 401);
  };

  const { user } = (await gateway.request(PATH, { method: 'POST', body: ANNA, token })).body;
  await race(user.id, { role: 'viewer' }, { disabled: true });
  const { users } = (await gateway.request(PATH, { token })).body;
  t.like(users[0], { role: 'editor', disabled: true });
  await race(user.id, { disabled: false }, { role: 'viewer' });
});

eachGatewayDatabase(
  test,
  'users and agents are in exports and deletions, and keys of deleted users are revoked',
  async (t, fresh) => {
    const gateway = await startRecords(t, { env: { ...fresh.environment } });
    const { id, token } = await gateway.makeTenant();
    const made = await gateway.request(PATH, { method: 'POST', body: ANNA, token });
    const ben = await gateway.request(PATH, {
      method: 'POST',
      body: { ...ANNA, email: 'ben@example.com' },
      token,
    });
    const yaml =
      'apiVersion: svc/v1\nkind: Agent\nmetadata: {name: mine}\nspec: {type: chat_model_agent, system_prompt: Help.}\n';
    t.is(
      (await gateway.request('/api/v2/admin/agents', { method: 'POST', body: { yaml }, token })).status,
      201,
    );

    const users = await gateway.exported(id, 'anna@example.com', 'runtime-users');
    t.like(users, [{ section: 'users', record: { name: ANNA.name, email: ANNA.email } }]);
    t.is((await gateway.exported(id, undefined, 'runtime-users')).length, 2);
    const agents = (await gateway.exported(id)).filter(({ section }) => section === 'agents');
    t.like(agents, [{ record: { name: 'mine', yaml } }]);

    t.deepEqual(await gateway.erase(id, made.body.user.id, 'runtime-users'), { users: 1 });
    const status = async (key: string) => (await gateway.request('/api/v2/agents', { token: key })).status;
    await until(async () => (await status(made.body.api_key)) === 401);
    t.is(await status(ben.body.api_key), 200);
    t.deepEqual(await gateway.erase(id, undefined, 'runtime-users'), { users: 1 });
    await until(async () => (await status(ben.body.api_key)) === 401);
    t.like(await gateway.erase(id), { agents: 1 });
  },
);
