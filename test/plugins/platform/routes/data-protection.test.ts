import { createHash } from 'node:crypto';
import { defineEntity } from '@mikro-orm/core';
import test from 'ava';
import { column, type Migration } from '../../../../foundation/data/database.ts';
import type { PersonalData } from '../../../../foundation/protection/personal-data.ts';
import { PersonalDataPoint } from '../../../../kernel/api/points.ts';
import { manualClock } from '../../../../testing/index.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../../support/databases.ts';
import { plain, startFakeProvider } from '../../../support/fake-provider.ts';
import { testPlugin } from '../../../support/plugins.ts';
import { settled, until } from '../../../support/until.ts';
import {
  CLEANUP,
  callsAs,
  DATA,
  EXPORT,
  exported,
  fill,
  KEPT,
  OF_TENANT,
  OF_USERS,
  objectKeys,
  startProtected,
  WORDLESS,
} from '../data-protection-kit.ts';
import { providerEnv } from './chat-kit.ts';

const sectionsOf = (document: Record<string, unknown>) =>
  Object.keys(document).filter((name) => Array.isArray(document[name]));
type AuditRecord = Record<string, unknown> & { readonly detail: Record<string, unknown> };
const filledOf = (document: Record<string, unknown>) =>
  sectionsOf(document).filter((name) => (document[name] as unknown[]).length > 0);

eachGatewayDatabase(
  test,
  'an export holds all that is kept of its tenant, and nothing of another',
  async (t, fresh) => {
    const gateway = await startProtected(t, { env: fresh.environment });
    const [one, two] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
    await fill(gateway, one, 'ada', 'violet');
    await fill(gateway, two, 'ada', 'marigold');
    for (const [tenant, own, foreign] of [
      [one, 'violet', 'marigold'],
      [two, 'marigold', 'violet'],
    ] as const) {
      const document = await exported(gateway, tenant.token);
      t.like(document, { tenant: { id: tenant.id }, user_id: null, complete: true });
      t.deepEqual(filledOf(document).sort(), [...OF_USERS, ...OF_TENANT, ...KEPT].sort());
      for (const section of sectionsOf(document)) {
        const text = JSON.stringify(document[section]);
        t.false(text.includes(foreign), section);
        if (!WORDLESS.includes(section)) t.true(text.includes(own), section);
      }
      t.is(document.sessions[0].messages.length > 0, true);
      const hash = createHash('sha256').update(tenant.token).digest('hex');
      for (const secret of [tenant.token, hash, tenant.token.slice(0, 8)])
        t.false(JSON.stringify(document).includes(secret));
    }
  },
);

eachGatewayDatabase(test, 'one user is exported and erased, and others stay', async (t, fresh) => {
  const gateway = await startProtected(t, { env: fresh.environment });
  const tenant = await gateway.makeTenant('one');
  await fill(gateway, tenant, 'ada lovelace', 'violet');
  await fill(gateway, tenant, 'bob', 'daisy');
  const ada = await exported(gateway, tenant.token, 'ada lovelace');
  t.like(ada, { user_id: 'ada lovelace', complete: true });
  t.deepEqual(filledOf(ada).sort(), [...OF_USERS].sort());
  t.false(JSON.stringify(ada).includes('daisy'));
  const before = await exported(gateway, tenant.token, 'bob');
  const files = (await objectKeys(gateway, tenant.id)).filter((key) => key.startsWith('files/'));
  t.is(files.length, 2);

  const erase = () =>
    gateway.request(`${DATA}?user_id=ada%20lovelace`, { method: 'DELETE', token: tenant.token });
  const { status, body } = await erase();
  t.is(status, 200, JSON.stringify(body));
  for (const kind of [...OF_USERS, 'messages']) t.true(body.deleted[kind] > 0, kind);
  t.is(body.deleted.sessions, ada.sessions.length);
  t.deepEqual(await exported(gateway, tenant.token, 'bob').then(withoutTime), withoutTime(before));

  const left = [`files/${before.files[0].id}`];
  await until(async () => {
    const keys = await objectKeys(gateway, tenant.id);
    return `${keys.filter((key) => key.startsWith('files/'))}` === `${left}`;
  });
  // What audit records say of him besides is renamed in a job.
  await until(async () => {
    const { audit_logs: logs } = await exported(gateway, tenant.token);
    return !JSON.stringify(logs).includes('lovelace');
  });
  t.deepEqual(filledOf(await exported(gateway, tenant.token, 'ada lovelace')), []);
  const again = await erase();
  t.is(again.status, 200);
  t.deepEqual(new Set(Object.values(again.body.deleted)), new Set([0]));
});

test('what an administrator has begun in a session of the user goes with the session', async (t) => {
  const gateway = await startProtected(t);
  const tenant = await gateway.makeTenant('one');
  await fill(gateway, tenant, 'bob', 'daisy');
  const chat = (user: string | undefined, body: object) =>
    callsAs(gateway, tenant.token, user)('POST', '/api/v2/chat/stream', { agent_id: 'careful', ...body });
  await chat('ada', { session_id: 'shared', message: 'I am violet' });
  await chat(undefined, { session_id: 'shared', message: 'Say violet', background: true });
  await callsAs(gateway, tenant.token)('GET', '/api/v2/chat/stream?session_id=shared');
  await chat(undefined, { session_id: 'shared', message: 'use the calculator: what is 17 * 23?' });
  const kept = async () => {
    const { agent_checkpoints: checkpoints, chat_events: events } = await exported(gateway, tenant.token);
    return [checkpoints, events].map((records) => JSON.stringify(records).includes('violet'));
  };
  t.deepEqual(await kept(), [true, true]);
  const before = await exported(gateway, tenant.token, 'bob');
  const { status } = await gateway.request(`${DATA}?user_id=ada`, { method: 'DELETE', token: tenant.token });
  t.is(status, 200);
  t.deepEqual(await kept(), [false, false]);
  t.deepEqual(await exported(gateway, tenant.token, 'bob').then(withoutTime), withoutTime(before));
});

test('an audit record does not hold what was searched for in the memories of a user', async (t) => {
  const gateway = await startProtected(t);
  const { token } = await gateway.makeTenant('one');
  const found = await callsAs(gateway, token)('GET', '/api/v2/memory/long-term/search?user_id=ada&q=violet');
  t.is(found.query, 'violet');
  const { audit_logs: logs } = await exported(gateway, token);
  const queries = (logs as readonly AuditRecord[]).map(({ detail }) => detail.query).filter(Boolean);
  t.deepEqual(queries, [{ user_id: 'ada', q: '[REDACTED]' }]);
});

function withoutTime({ exported_at: _, ...document }: Record<string, unknown>) {
  return document;
}

eachGatewayDatabase(
  test,
  'all of a tenant is erased, its objects too, and nothing of another',
  async (t, fresh) => {
    const gateway = await startProtected(t, { env: fresh.environment });
    const [one, two] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
    await fill(gateway, one, 'ada', 'violet');
    await fill(gateway, two, 'ada', 'marigold');
    const key = await gateway.gateway.services.apiKeys.create({
      tenantId: one.id,
      name: 'second',
      roles: ['user'],
      scopes: [],
      expiresAt: null,
      createdBy: 'ada@example.com',
    });
    const foreign = await exported(gateway, two.token);
    const { status, body } = await gateway.request(DATA, { method: 'DELETE', token: one.token });
    t.is(status, 200, JSON.stringify(body));
    for (const kind of [...OF_USERS, ...OF_TENANT.filter((name) => !['skills', 'souls'].includes(name))])
      t.true(body.deleted[kind] > 0, kind);

    const namesOf = (logs: readonly AuditRecord[]) =>
      new Set(logs.flatMap(({ user_id, detail }) => [user_id, detail.svc_user_id ?? '']));
    // Objects, and what audit records say, follow in jobs.
    await until(async () => {
      const { skills, souls, audit_logs } = await exported(gateway, one.token);
      return !JSON.stringify([skills, souls]).includes('violet') && !namesOf(audit_logs).has('ada');
    });
    const document = await exported(gateway, one.token);
    // The built-in skills come back.
    const left = filledOf(document).filter((section) => !['skills', 'souls'].includes(section));
    t.deepEqual(left.sort(), [...KEPT].sort());
    const { audit_logs: logs, ...rest } = document;
    t.false(JSON.stringify(rest).includes('violet'));
    t.false(namesOf(logs).has('ada'));
    const made = document.api_keys.find(({ id }: { id: string }) => id === key.record.id);
    t.regex(made.created_by, /^erased-/);
    t.is((await gateway.request('/v1/me', { token: key.key })).status, 200, 'keys stay');
    await until(async () => !(await objectKeys(gateway, one.id)).some((name) => /^files|violet/.test(name)));

    const after = await exported(gateway, two.token);
    for (const section of [...OF_USERS, ...OF_TENANT]) t.deepEqual(after[section], foreign[section], section);
  },
);

eachGatewayDatabase(test, 'audit records stay, under a pseudonym', async (t, fresh) => {
  const gateway = await startProtected(t, { env: fresh.environment });
  const tenant = await gateway.makeTenant('one');
  const { apiKeys } = gateway.gateway.services;
  const { record, key } = await apiKeys.create({
    tenantId: tenant.id,
    name: 'ada',
    roles: ['user'],
    scopes: [],
    expiresAt: null,
    createdBy: null,
  });
  await callsAs(gateway, key)('PUT', '/v1/memories/tea', { value: 'green' });
  await callsAs(gateway, key)('GET', `/v1/memories?user_id=${record.id}`);
  const logs = async () => (await exported(gateway, tenant.token)).audit_logs as Record<string, unknown>[];
  const ofHers = ({ action }: Record<string, unknown>) => String(action).includes('/v1/memories');
  const before = (await logs()).filter(ofHers);
  t.is(before.length, 2);
  t.true(before.every(({ user_id: user }) => user === record.id));
  await callsAs(gateway, tenant.token)('DELETE', `${DATA}?user_id=${record.id}`);
  const after = (await logs()).filter(ofHers);
  t.is(after.length, 2);
  const [pseudonym] = after.map(({ user_id: user }) => user);
  t.regex(String(pseudonym), /^erased-/);
  t.deepEqual(new Set(after.map(({ user_id: user }) => user)), new Set([pseudonym]));
  // Also the record of the erasure itself does not name her, but says what took her place.
  const erasure = (await logs()).find(({ action }) => action === `DELETE ${DATA}`)!;
  t.like(erasure.detail, { query: { user_id: '[REDACTED]' }, changes: { pseudonym } });
  await until(async () => !JSON.stringify(await logs()).includes(record.id));
});

eachGatewayDatabase(
  test,
  'an erasure ends the chats of its user, and stores nothing of them',
  async (t, fresh) => {
    const provider = await startFakeProvider(plain(), async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    t.teardown(() => provider[Symbol.asyncDispose]());
    const gateway = await startProtected(t, { env: { ...fresh.environment, ...providerEnv(provider) } });
    const tenant = await gateway.makeTenant('one');
    const chat = (user: string, session: string, path = '/v1/chat/completions') =>
      gateway.request(path, {
        method: 'POST',
        token: tenant.token,
        headers: { 'x-svc-user-id': user, 'x-svc-session-id': session },
        body: { model: 'default', messages: [{ role: 'user', content: 'Hi' }] },
      });
    t.is((await chat('ada', 'old')).status, 200);
    const running = [chat('ada', 'old'), chat('ada', 'new'), chat('ada', 'newer', '/v1/agent/chat')];
    const others = chat('bob', 'his');
    await until(() => provider.requests.length === 5);
    const { status, body } = await gateway.request(`${DATA}?user_id=ada`, {
      method: 'DELETE',
      token: tenant.token,
    });
    t.is(status, 200, JSON.stringify(body));
    for (const answer of await Promise.all(running)) {
      t.is(answer.status, 409);
      t.is(answer.body.error.code, 'chat.aborted');
    }
    t.deepEqual(filledOf(await exported(gateway, tenant.token, 'ada')), []);
    const aborted = { method: 'POST', token: tenant.token, body: { session_id: 'his' } };
    t.is((await gateway.request('/v1/chat/abort', aborted)).status, 200, 'his chat went on');
    t.is((await others).status, 409);
  },
);

test('an erasure ends the chats of its user in other replicas', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const provider = await startFakeProvider(async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  t.teardown(() => provider[Symbol.asyncDispose]());
  const env = { ...fresh.environment, ...providerEnv(provider) };
  const [one, two] = [await startProtected(t, { env }), await startProtected(t, { env })];
  const tenant = await one.makeTenant('one');
  const call = { method: 'POST', token: tenant.token, headers: { 'x-svc-user-id': 'ada' } };
  const body = { model: 'default', messages: [{ role: 'user', content: 'Hi' }] };
  const chat = one.request('/v1/chat/completions', { ...call, body });
  await until(() => provider.requests.length === 1);
  t.is((await two.request(`${DATA}?user_id=ada`, { ...call, method: 'DELETE' })).status, 200);
  t.is((await chat).body.error.code, 'chat.aborted');
  t.deepEqual(filledOf(await exported(two, tenant.token, 'ada')), []);
});

test('the role of an administrator is needed, and a scope for the work', async (t) => {
  const gateway = await startProtected(t);
  const tenant = await gateway.makeTenant('one');
  const key = async (roles: string[], scopes: string[]) => {
    const wanted = { tenantId: tenant.id, name: 'key', roles, scopes, expiresAt: null, createdBy: null };
    return (await gateway.gateway.services.apiKeys.create(wanted)).key;
  };
  const statuses = async (token: string | null) =>
    Promise.all(
      [
        ['GET', EXPORT],
        ['DELETE', `${DATA}?user_id=nobody`],
        ['POST', CLEANUP],
      ].map(async ([method, path]) => (await gateway.request(path!, { method: method!, token })).status),
    );
  t.deepEqual(await statuses(null), [401, 401, 401]);
  t.deepEqual(await statuses(await key(['user'], ['read', 'write', 'gdpr'])), [403, 403, 403]);
  t.deepEqual(await statuses(await key(['auditor'], ['gdpr'])), [403, 403, 403]);
  t.deepEqual(await statuses(await key(['admin'], ['gdpr'])), [200, 200, 200]);
  t.deepEqual(await statuses(await key(['admin'], ['read'])), [200, 403, 403]);
  t.deepEqual(await statuses(await key(['owner'], [])), [200, 200, 200]);
  t.deepEqual(await statuses(gateway.token), [200, 200, 200]);
});

test('an export is a download, and an empty or overlong user is refused by name', async (t) => {
  const gateway = await startProtected(t);
  const tenant = await gateway.makeTenant('one');
  const { headers } = await gateway.request(EXPORT, { token: tenant.token });
  t.is(headers.get('content-disposition'), `attachment; filename="export-${tenant.id}.json"`);
  t.is(headers.get('cache-control'), 'no-store');
  for (const user of ['', 'x'.repeat(257)]) {
    const answer = await gateway.request(`${EXPORT}?user_id=${user}`, { token: tenant.token });
    t.is(answer.status, 400);
    t.is(answer.body.errors[0].pointer, '/query/user_id');
  }
  const head = await fetch(`${gateway.url}${EXPORT}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${tenant.token}` },
  });
  t.is(head.status, 200);
});

/** Contributes a section of so many records, and then fails. */
function failingPlugin(records: number) {
  const data: PersonalData = {
    name: 'failing',
    sections: [
      {
        name: 'troubles',
        entities: [],
        async *read() {
          for (let index = 0; index < records; index += 1) yield { index, text: 'x'.repeat(1000) };
          throw new Error('the disk is gone');
        },
      },
    ],
    erase: async () => ({}),
  };
  return testPlugin('failing', { setup: (scope) => scope.contribute(PersonalDataPoint, data) });
}

test('an export that fails before its first bytes is an error, and one that fails later is broken off', async (t) => {
  const early = await startProtected(t, { plugins: [failingPlugin(0)] });
  const refused = await early.request(EXPORT);
  t.is(refused.status, 500);
  t.is(refused.body.code, 'internal');

  const late = await startProtected(t, { plugins: [failingPlugin(1_000)] });
  const response = await fetch(`${late.url}${EXPORT}`, {
    headers: { authorization: `Bearer ${late.token}` },
  });
  t.is(response.status, 200);
  await t.throwsAsync(response.text(), { message: 'terminated' });
  await until(() => late.logs().some((line) => line.includes('an export was broken off')));
});

test('a caller who does not read holds an export up, and one who leaves ends it', async (t) => {
  let [given, isOver] = [0, false];
  const data: PersonalData = {
    name: 'endless',
    sections: [
      {
        name: 'endless',
        entities: [],
        async *read() {
          try {
            for (;;) {
              given += 1;
              yield { text: 'x'.repeat(10_000) };
            }
          } finally {
            isOver = true;
          }
        },
      },
    ],
    erase: async () => ({}),
  };
  const endless = testPlugin('endless', { setup: (scope) => scope.contribute(PersonalDataPoint, data) });
  const gateway = await startProtected(t, { plugins: [endless] });
  const leave = new AbortController();
  const response = await fetch(`${gateway.url}${EXPORT}?user_id=ada`, {
    headers: { authorization: `Bearer ${gateway.token}`, 'x-request-id': 'one-of-hers' },
    signal: leave.signal,
  });
  t.is(response.status, 200);
  // Part of it has left, and would have without a trace if the process ended here: the record of the call comes at its
  // end.
  const logs = async (action: string) =>
    (await gateway.request(`/v1/audit-logs?action=${encodeURIComponent(action)}`)).body.audit_logs;
  await until(async () => (await logs('export.begun')).length > 0);
  const [begun] = await logs('export.begun');
  t.like(begun, {
    user_id: 'static-token',
    request_id: 'one-of-hers',
    detail: { changes: { user_id: 'ada' } },
  });
  t.deepEqual(await logs(`GET ${EXPORT}`), []);
  // What fits into the buffers of both sides, and nothing after that.
  await settled(() => given, 1_000, 20_000);
  t.true(given < 5_000, `${given} records`);
  t.false(isOver);
  leave.abort();
  await until(() => isOver);
  await until(async () => (await logs(`GET ${EXPORT}`)).length > 0);
});

const Diary = defineEntity({
  name: 'Diary',
  tableName: 'diaries',
  properties: { id: column.id().primary(), tenantId: column.tenant(), text: column.string(100) },
});
const diaries: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('diaries')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('text', types.string(100), (is) => is.notNull()),
  ],
};

eachGatewayDatabase(
  test,
  'what a plugin keeps that answers for nothing is no silent gap in an export or an erasure',
  async (t, fresh) => {
    const diary = testPlugin('diary', { entities: [Diary], migrations: [diaries] });
    const gateway = await startProtected(t, { env: fresh.environment, plugins: [diary] });
    const [one, two] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
    await gateway.gateway.services.database.forTenant(one.id).insert(Diary, { id: 'd', text: 'secret' });
    for (const [method, path] of [
      ['GET', EXPORT],
      ['DELETE', DATA],
    ] as const) {
      const { status, body } = await gateway.request(path, { method, token: one.token });
      t.is(status, 503);
      t.is(body.code, 'data-protection.incomplete');
      t.regex(body.detail, /There is data in diaries of diary, and no plugin/);
      t.is((await gateway.request(path, { method, token: two.token })).status, 200);
    }
    await gateway.request('/admin/v1/plugins/workflow/disable', { method: 'POST' });
    t.is((await gateway.request(EXPORT, { token: two.token })).status, 200, 'it has nothing there');
  },
);

test('an erasure that loses a race in the database is done again, and one that fails deletes nothing', async (t) => {
  let attempts = 0;
  const failures = [Object.assign(new Error('deadlock'), { code: '40P01' }), undefined, new Error('no')];
  const data: PersonalData = {
    name: 'racing',
    sections: [],
    async erase(entities) {
      attempts += 1;
      await entities.rows(KeyLike, {}, { limit: 1 });
      const failure = failures[attempts - 1];
      if (failure !== undefined) throw failure;
      return { races: 1 };
    },
  };
  const racing = testPlugin('racing', {
    entities: [{ entity: KeyLike, impersonal: 'nothing is in it' }],
    migrations: [keyLikes],
    setup: (scope) => scope.contribute(PersonalDataPoint, data),
  });
  const gateway = await startProtected(t, { plugins: [racing] });
  const tenant = await gateway.makeTenant('one');
  const call = callsAs(gateway, tenant.token);
  await call('PUT', '/v1/memories/tea', { value: 'green' });
  const { deleted } = await call('DELETE', DATA);
  t.like(deleted, { races: 1, memories: 1 });
  t.is(attempts, 2);
  await call('PUT', '/v1/memories/tea', { value: 'green' });
  t.is((await gateway.request(DATA, { method: 'DELETE', token: tenant.token })).status, 500);
  t.is((await call('GET', '/v1/memories')).total, 1);
});

const KeyLike = defineEntity({
  name: 'KeyLike',
  tableName: 'key_likes',
  properties: { id: column.id().primary(), tenantId: column.tenant() },
});
const keyLikes: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('key_likes')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull()),
  ],
};

const HOUR_MS = 3_600_000;

test('the clean-up deletes old objects that nothing refers to, and none that nobody claims', async (t) => {
  const clock = manualClock();
  const gateway = await startProtected(t, { clock });
  const [one, two] = [await gateway.makeTenant('one'), await gateway.makeTenant('two')];
  await fill(gateway, one, 'ada', 'violet');
  const { objects } = gateway.gateway.services;
  const orphans = ['files/0190f000-0000-7000-8000-00000000000a', 'skills/forgotten/SKILL.md'];
  const unclaimed = ['tour/visit.txt', 'skills/forgotten/notes.txt', 'filesystem', 'SOUL.md.bak'];
  for (const tenant of [one, two])
    for (const key of [...orphans, ...unclaimed]) await objects.forTenant(tenant.id).put(key, '12345');
  const kept = (await objectKeys(gateway, one.id)).filter((key) => !orphans.includes(key));
  clock.advance(HOUR_MS - 1);
  const young = await gateway.request(CLEANUP, { method: 'POST', token: one.token });
  t.deepEqual(young.body, { deleted: 0, bytes: 0, scanned: kept.length + 2 });
  clock.advance(1);
  await objects.forTenant(one.id).put('files/0190f000-0000-7000-8000-00000000000b', 'young');
  const { status, body } = await gateway.request(CLEANUP, { method: 'POST', token: one.token });
  t.is(status, 200);
  t.deepEqual(body, { deleted: 2, bytes: 10, scanned: kept.length + 3 });
  const young2 = 'files/0190f000-0000-7000-8000-00000000000b';
  t.deepEqual([...(await objectKeys(gateway, one.id))].sort(), [...kept, young2].sort());
  t.true((await objectKeys(gateway, two.id)).includes(orphans[0]!), 'another tenant is left alone');
  const again = await gateway.request(CLEANUP, { method: 'POST', token: one.token });
  t.deepEqual(again.body, { deleted: 0, bytes: 0, scanned: kept.length + 1 });
  t.is((await gateway.request('/v1/skills/violet', { token: one.token })).status, 200);
});

test('an object that nobody answers for any more is not deleted', async (t) => {
  const clock = manualClock();
  const gateway = await startProtected(t, { clock });
  const tenant = await gateway.makeTenant('one');
  const orphan = 'files/0190f000-0000-7000-8000-00000000000a';
  await gateway.gateway.services.objects.forTenant(tenant.id).put(orphan, '12345');
  clock.advance(2 * HOUR_MS);
  const switched = (verb: string) => gateway.request(`/admin/v1/plugins/runtime/${verb}`, { method: 'POST' });
  await switched('disable');
  t.is((await gateway.request(CLEANUP, { method: 'POST', token: tenant.token })).body.deleted, 0);
  await switched('enable');
  t.is((await gateway.request(CLEANUP, { method: 'POST', token: tenant.token })).body.deleted, 1);
});

test('without object storage the clean-up is 503, and exports and erasures do without', async (t) => {
  const gateway = await startProtected(t, { env: { OBJECT_STORE_URL: 'none' } });
  const { status, body } = await gateway.request(CLEANUP, { method: 'POST' });
  t.is(status, 503);
  t.is(body.code, 'objects.unavailable');
  t.is((await gateway.request(EXPORT)).status, 200);
  t.is((await gateway.request(DATA, { method: 'DELETE' })).status, 200);
});
