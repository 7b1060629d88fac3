import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { MESSAGES, type SessionsGateway, startSessionsGateway } from './sessions-gateway.ts';

const PATH = '/v1/sessions';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A tenant with an administrator and a user's key, whose principal it gives. */
async function makeTenant(gateway: SessionsGateway) {
  const { id: tenantId, token: admin } = await gateway.makeTenant();
  const key = await gateway.key(tenantId);
  const principal = (userId = key.id, identityId = key.id) => ({ tenantId, identityId, userId });
  return { tenantId, admin, key, principal };
}

const ids = ({ body }: { body: { sessions: { id: string }[]; total: number } }) => [
  body.total,
  ...body.sessions.map(({ id }) => id),
];

eachGatewayDatabase(
  test,
  'sessions are listed, read with their messages, and deleted',
  async (t, { environment }) => {
    const gateway = await startSessionsGateway(t, { env: environment });
    const { request, talk } = gateway;
    const { tenantId, key, principal } = await makeTenant(gateway);
    const { token } = key;
    const tools = [
      { role: 'user', content: [{ type: 'text', text: 'NUL \0 and \ud800' }] },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'assistant', content: 'Done.' },
    ] as const;
    const id = await talk(principal());
    await talk(principal(), id, tools);

    const list = await request(PATH, { token });
    t.is(list.status, 200);
    const [session] = list.body.sessions;
    t.regex(session.created_at, TIME);
    t.true(session.updated_at >= session.created_at);
    t.deepEqual(list.body, {
      sessions: [
        {
          id,
          tenant_id: tenantId,
          user_id: key.id,
          model: 'demo',
          turns: 2,
          input_tokens: 14,
          output_tokens: 6,
          created_at: session.created_at,
          updated_at: session.updated_at,
        },
      ],
      total: 1,
      limit: 50,
      offset: 0,
    });

    const read = await request(`${PATH}/${id}`, { token });
    t.is(read.status, 200);
    const { messages, messages_total, ...rest } = read.body;
    t.deepEqual(rest, session);
    t.is(messages_total, 6);
    t.deepEqual(Object.keys(messages[0]).toSorted(), [
      'content',
      'created_at',
      'id',
      'role',
      'seq',
      'token_count',
    ]);
    t.like(messages[0], { seq: 1, role: 'user', content: 'Hello?', token_count: 6 });
    t.regex(messages[0].created_at, TIME);
    t.like(messages[1], { seq: 2, role: 'assistant', content: 'Hello!', token_count: 3 });
    t.like(messages[2], { seq: 3, content: [{ type: 'text', text: 'NUL \0 and \ud800' }] });
    t.like(messages[3], { seq: 4, content: null, tool_calls: tools[1].tool_calls });
    t.like(messages[4], { seq: 5, role: 'tool', tool_call_id: 'c1', content: 'done' });

    const page = async (query: string) => {
      const { body } = await request(`${PATH}/${id}?${query}`, { token });
      return [body.messages_total, ...body.messages.map(({ seq }: { seq: number }) => seq)];
    };
    t.deepEqual(await page('limit=2'), [6, 5, 6]);
    t.deepEqual(await page('limit=2&before=5'), [6, 3, 4]);
    t.deepEqual(await page('limit=0'), [6]);
    t.deepEqual(await page('limit=99999'), [6, 1, 2, 3, 4, 5, 6]);

    const removed = await request(`${PATH}/${id}`, { method: 'DELETE', token });
    t.deepEqual([removed.status, removed.body], [204, '']);
    for (const method of ['GET', 'DELETE']) {
      const gone = await request(`${PATH}/${id}`, { method, token });
      t.deepEqual([gone.status, gone.body.code], [404, 'session.not-found']);
    }
    t.is((await request(PATH, { token })).body.total, 0);
  },
);

test('everybody sees his own sessions, an administrator those of his tenant', async (t) => {
  const gateway = await startSessionsGateway(t);
  const { request, talk } = gateway;
  const [own, foreign] = [await makeTenant(gateway), await makeTenant(gateway)];
  const other = await gateway.key(own.tenantId);
  const a = await talk(own.principal('alice'));
  const b = await talk(own.principal('bob'));
  const c = await talk(own.principal(other.id, other.id));
  const x = await talk(foreign.principal());
  const get = (path: string, token: string, user?: string) =>
    request(path, { token, headers: user === undefined ? {} : { 'x-svc-user-id': user } });

  t.deepEqual(ids(await get(PATH, own.admin)), [3, c, b, a]);
  t.deepEqual(ids(await get(`${PATH}?user_id=alice`, own.admin)), [1, a]);
  t.deepEqual(ids(await get(`${PATH}?limit=1&offset=1`, own.admin)), [3, b]);
  t.deepEqual(ids(await get(PATH, own.key.token)), [2, b, a]);
  t.deepEqual(ids(await get(`${PATH}?user_id=bob`, own.key.token)), [1, b]);
  t.deepEqual(ids(await get(PATH, own.key.token, 'alice')), [1, a]);
  t.deepEqual(ids(await get(`${PATH}?user_id=bob`, own.key.token, 'alice')), [0]);
  t.deepEqual(ids(await get(PATH, other.token)), [1, c]);
  t.deepEqual(ids(await get(`${PATH}?user_id=alice`, other.token)), [0]);
  t.deepEqual(ids(await get(PATH, foreign.admin)), [1, x]);

  const CASES: readonly [string, string | undefined, string, number][] = [
    [own.key.token, undefined, a, 200],
    [own.key.token, 'alice', a, 200],
    [own.key.token, 'bob', a, 403],
    [other.token, undefined, a, 403],
    [other.token, 'alice', a, 403],
    [own.admin, undefined, a, 200],
    [own.admin, undefined, c, 200],
    [own.admin, undefined, x, 404],
    [foreign.admin, undefined, a, 404],
    [own.key.token, undefined, 'no such session', 404],
    [own.key.token, undefined, '%00', 404],
  ];
  for (const [token, user, id, status] of CASES) {
    const read = await get(`${PATH}/${id}`, token, user);
    t.is(read.status, status, `${user} ${id}`);
    if (status !== 200) t.is(read.body.code, status === 403 ? 'session.forbidden' : 'session.not-found');
    if (status === 200) continue;
    const headers: Record<string, string> = user === undefined ? {} : { 'x-svc-user-id': user };
    t.is((await request(`${PATH}/${id}`, { method: 'DELETE', token, headers })).status, status);
  }
});

test('reading needs the scope read, deleting write, aborting execute', async (t) => {
  const gateway = await startSessionsGateway(t, { hasMocks: true });
  const { request } = gateway;
  const { id: tenantId } = await gateway.makeTenant();
  const body = { session_id: 'unknown' };
  const CALLS: readonly [string, string, object | undefined, string, number][] = [
    ['GET', PATH, undefined, 'read', 200],
    ['GET', `${PATH}/unknown`, undefined, 'read', 404],
    ['DELETE', `${PATH}/unknown`, undefined, 'write', 404],
    ['POST', '/v1/chat/abort', body, 'execute', 404],
    ['POST', '/v1/mock-sessions', undefined, 'write', 201],
  ];
  for (const scope of ['read', 'write', 'execute']) {
    const { token } = await gateway.key(tenantId, { scopes: [scope] });
    for (const [method, path, sent, needed, status] of CALLS) {
      const { status: got } = await request(path, { method, body: sent, token });
      t.is(got, scope === needed ? status : 403, `${method} ${path} with ${scope}`);
      t.is((await request(path, { method, body: sent, token: null })).status, 401);
    }
  }
  const { token } = await gateway.key(tenantId, { roles: ['auditor'], scopes: ['read', 'write', 'execute'] });
  for (const [method, path, sent] of CALLS) {
    t.is((await request(path, { method, body: sent, token })).status, 403, `${method} ${path} as an auditor`);
  }
});

test('what is wrong with a query or a body is told by field', async (t) => {
  const gateway = await startSessionsGateway(t);
  const { key } = await makeTenant(gateway);
  const { token } = key;
  const CALLS: readonly [string, object | undefined, string[]][] = [
    [`${PATH}?limit=-1&offset=x`, undefined, ['/query/limit', '/query/offset']],
    [`${PATH}/s?limit=1.5&before=0`, undefined, ['/query/before', '/query/limit']],
    ['/v1/chat/abort', {}, ['/body/session_id']],
    ['/v1/chat/abort', { session_id: 5 }, ['/body/session_id']],
  ];
  for (const [path, body, pointers] of CALLS) {
    const { status, body: problem } = await gateway.request(path, {
      method: body ? 'POST' : 'GET',
      body,
      token,
    });
    t.is(status, 400, path);
    t.deepEqual(problem.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted(), pointers);
  }
  t.is((await gateway.request(`${PATH}?limit=9999`, { token })).body.limit, 500);
});

test('a chat in flight is aborted by its owner or an administrator; its session is busy until it has ended', async (t) => {
  const gateway = await startSessionsGateway(t);
  const { request, turns, talk } = gateway;
  const [own, foreign] = [await makeTenant(gateway), await makeTenant(gateway)];
  const abort = (session_id: string, token: string, user?: string) =>
    request('/v1/chat/abort', {
      method: 'POST',
      body: { session_id },
      token,
      headers: user === undefined ? {} : { 'x-svc-user-id': user },
    });
  const stored = await talk(own.principal('alice'));
  for (const sessionId of [undefined, stored]) {
    const { signal } = new AbortController();
    const principal = own.principal('alice');
    const turn = await turns.begin({ principal, sessionId, isAdmin: false, maxSessions: 10, signal });
    const { sessionId: id } = turn;
    t.is((await abort(id, foreign.admin)).status, 404);
    const refused = await abort(id, own.key.token, 'bob');
    t.deepEqual([refused.status, refused.body.code], [403, 'session.forbidden']);
    if (sessionId !== undefined) {
      const busy = await request(`${PATH}/${id}`, { method: 'DELETE', token: own.admin });
      t.deepEqual(
        [busy.status, busy.body.code, busy.headers.get('x-should-retry')],
        [409, 'session.busy', 'false'],
      );
    }
    t.false(turn.signal.aborted);
    const aborted = await abort(id, sessionId === undefined ? own.key.token : own.admin);
    t.deepEqual([aborted.status, aborted.body], [200, { status: 'aborted', session_id: id }]);
    await until(() => turn.signal.aborted);
    t.is(turn.signal.reason.code, 'chat.aborted');
    await turn[Symbol.asyncDispose]();
    const ended = await abort(id, own.key.token);
    t.deepEqual([ended.status, ended.body.code], [404, 'session.not-found']);
  }
  t.is((await abort('no id at all \0', own.key.token)).status, 404);
  const read = await request(`${PATH}/${stored}`, { token: own.admin });
  t.is(read.body.messages_total, MESSAGES.length);
  t.is((await request(`${PATH}/${stored}`, { method: 'DELETE', token: own.admin })).status, 204);
});

test('a mock session is made where mock sessions are enabled', async (t) => {
  const gateway = await startSessionsGateway(t, { hasMocks: true });
  const { key, tenantId } = await makeTenant(gateway);
  const { token } = key;
  const headers = { 'x-svc-user-id': 'alice' };
  const made = await gateway.request('/v1/mock-sessions', { method: 'POST', token, headers });
  t.is(made.status, 201);
  t.like(made.body, { tenant_id: tenantId, user_id: 'alice', turns: 1, input_tokens: 0, output_tokens: 0 });
  const read = await gateway.request(`${PATH}/${made.body.id}`, { token, headers });
  t.deepEqual(
    read.body.messages.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  );
  const without = await startSessionsGateway(t);
  t.is((await without.request('/v1/mock-sessions', { method: 'POST' })).status, 404);
});

eachGatewayDatabase(
  test,
  'q finds sessions by a part of id, user or model, of those the caller may see',
  async (t, { environment }) => {
    const gateway = await startSessionsGateway(t, { env: environment });
    const { request, talk } = gateway;
    const { admin, key, principal } = await makeTenant(gateway);
    // Those of one millisecond are in the order of their ids.
    await talk(principal('Anna'), 'a-morning-1');
    await talk(principal('bob', 'somebody-else'), 'b-Morning-2');
    await talk(principal('carl'), 'c-evening.3');
    const found = async (query: Record<string, string>, token: string) =>
      ids(await request(`${PATH}?${new URLSearchParams(query)}`, { token }));
    t.deepEqual(await found({ q: 'MORNING' }, admin), [2, 'b-Morning-2', 'a-morning-1']);
    t.deepEqual(await found({ q: 'morning' }, key.token), [1, 'a-morning-1']);
    t.deepEqual(await found({ q: 'ann' }, admin), [1, 'a-morning-1']);
    t.deepEqual(await found({ q: 'demo', user_id: 'carl' }, admin), [1, 'c-evening.3']);
    t.deepEqual(await found({ q: 'demo', limit: '1', offset: '2' }, admin), [3, 'a-morning-1']);
    t.deepEqual(await found({ q: 'g_2' }, admin), [0]);
  },
);
