import test, { type ExecutionContext } from 'ava';
import type { Database } from '../../../foundation/data/database.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { type Turns, TurnsRef } from '../../../plugins/records/contract.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { testPlugin } from '../../support/plugins.ts';
import { recordStatements } from '../../support/statements.ts';
import { PROTOS, SERVICES } from './grpc-kit.ts';
import { startRuntime } from './runtime-gateway.ts';

const PATH = '/api/v2/conversations';

async function start(t: ExecutionContext, env: Record<string, string> = {}) {
  let turns: Turns | undefined;
  let database: Database | undefined;
  const spy = testPlugin('spy', {
    needs: { turns: TurnsRef },
    setup: (scope, needs) => {
      database = scope.services.database;
      ({ turns } = needs as { turns: Turns });
    },
  });
  const gateway = await startRuntime(t, { env, plugins: [spy] });
  const ask = (method: string, path: string, body?: object, token = gateway.token, headers = {}) =>
    gateway.request(`${PATH}${path}`, { method, token, headers, ...(body && { body }) });
  const begin = async (body: object = {}, token = gateway.token, headers = {}) =>
    (await ask('POST', '', { bot_id: 'default', ...body }, token, headers)).body.conversation;
  const principal = { tenantId: DEFAULT_TENANT_ID, identityId: 'static-token', userId: 'static-token' };
  const turnOf = (sessionId: string) => {
    const { signal } = new AbortController();
    return turns!.begin({ principal, isAdmin: true, sessionId, maxSessions: 10, signal });
  };
  return { gateway, ask, begin, turnOf, statements: recordStatements(database!) };
}

eachGatewayDatabase(
  test,
  'conversations are begun, listed, changed and deleted',
  async (t, { environment }) => {
    const { ask, begin } = await start(t, environment as Record<string, string>);
    const first = await begin({ title: 'Tea \0\ud800', meta_data: { a: [1, null], 'k\0': 'x' } });
    t.regex(first.id, /^[0-9a-f-]{36}$/);
    t.like(first, { bot_id: 'default', title: 'Tea \0\ud800', meta_data: { a: [1, null], 'k\0': 'x' } });
    const second = await begin({ bot_id: 'other' });
    t.like(second, { title: '', meta_data: {} });
    const list = await ask('GET', '');
    t.deepEqual(list.body.conversations, [second, first]);
    t.is(list.body.total, 2);
    t.deepEqual((await ask('GET', '?bot_id=other')).body.conversations, [second]);
    t.deepEqual((await ask('GET', '?limit=1&offset=1')).body.conversations, [first]);

    const changed = (await ask('PUT', `/${first.id}`, { title: 'Coffee' })).body.conversation;
    t.like(changed, { title: 'Coffee', meta_data: first.meta_data, created_at: first.created_at });
    t.deepEqual((await ask('GET', `/${first.id}`)).body.conversation, changed);
    t.is((await ask('DELETE', `/${first.id}`)).status, 204);
    for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const)
      t.is((await ask(method, `/${first.id}`, body)).body.code, 'conversation.not-found', method);
    t.is((await ask('POST', '', { title: 'x' })).body.errors[0].pointer, '/body/bot_id');
  },
);

test('metadata have 64 KiB at most, over HTTP and gRPC', async (t) => {
  const { gateway, ask, begin } = await start(t);
  const { id } = await begin();
  const metaData = (bytes: number) => ({ a: 'é'.repeat((bytes - 8) / 2) });
  t.is((await ask('PUT', `/${id}`, { meta_data: metaData(65_536) })).status, 200);
  const tooLarge = { bot_id: 'default', meta_data: metaData(65_538) };
  for (const [method, path] of [
    ['POST', ''],
    ['PUT', `/${id}`],
  ] as const) {
    const { status, body } = await ask(method, path, tooLarge);
    t.deepEqual(
      [status, body.code, body.errors[0].pointer],
      [413, 'conversation.meta-data-too-large', '/body/meta_data'],
    );
  }
  const proto = new URL('svc/conversation/v1/conversation.proto', PROTOS);
  const client = gateway.grpc({ proto, service: SERVICES.conversation });
  const made = await client.call('CreateConversation', tooLarge);
  t.deepEqual([made.code, made.violations[0]?.field], ['RESOURCE_EXHAUSTED', 'meta_data']);
  t.is((await ask('GET', '')).body.total, 1);
});

test('a keyword is searched without the metadata of conversations that are not shown', async (t) => {
  const { gateway, begin, statements } = await start(t);
  const titles = ['Bills of May', 'Holidays', 'Bills of June', 'Bills of July'];
  const made = [];
  for (const title of titles) made.push(await begin({ title, meta_data: { note: title } }));
  const proto = new URL('svc/conversation/v1/conversation.proto', PROTOS);
  const client = gateway.grpc({ proto, service: SERVICES.conversation });
  const asked = { keyword: 'bILLS', page: 2, page_size: 1 };
  statements.take();
  const { message } = await client.call('ListConversations', asked);
  t.like(message, { total: 3, has_more: true });
  t.deepEqual(message.conversations, [
    {
      ...message.conversations[0],
      id: made[2].id,
      title: 'Bills of June',
      meta_data: { note: 'Bills of June' },
    },
  ]);
  const reads = statements
    .take()
    .filter(({ sql }) => /select .*meta_data.* from .runtime_conversations/s.test(sql));
  t.is(reads.length, 1);
  t.true(reads[0]!.parameters.includes(made[2].id), 'of the one that is shown');
  const none = await client.call('ListConversations', { keyword: 'tea' });
  t.like(none.message, { conversations: [], total: 0 });
});

test('the messages of a conversation are those of its session, and go one by one or all', async (t) => {
  const { gateway, ask, begin, turnOf } = await start(t);
  const { id } = await begin();
  t.deepEqual((await ask('GET', `/${id}/messages`)).body, { messages: [], total: 0 });
  for (const text of ['one', 'two']) {
    await using turn = await turnOf(id);
    const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1}' } } as const;
    const messages = [
      { role: 'user', content: text },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: `result of ${text}` },
      { role: 'assistant', content: `said ${text}` },
    ];
    await turn.commit({ model: 'demo', source: 'runtime', uses: [], messages });
  }
  const { messages, total } = (await ask('GET', `/${id}/messages`)).body;
  t.is(total, 8);
  t.like(messages[0], { conversation_id: id, role: 'user', content: 'one', content_type: 'text' });
  const page = (await ask('GET', `/${id}/messages?limit=2&before=4`)).body.messages;
  t.deepEqual(
    page.map(({ seq }: { seq: number }) => seq),
    [2, 3],
  );

  t.is((await ask('DELETE', `/${id}/messages/${messages[0].id}`)).status, 204);
  t.is((await ask('DELETE', `/${id}/messages/${messages[0].id}`)).body.code, 'session.message-not-found');
  t.is((await ask('DELETE', `/${id}/messages/${messages[2].id}`)).status, 204);
  const left = (await ask('GET', `/${id}/messages`)).body;
  t.is(left.total, 7);
  t.is(left.messages[1].content, '[deleted]');
  await using turn = await turnOf(id);
  const history = await turn.history(100_000);
  t.is(history.length, 7);
  t.false(JSON.stringify(history).includes('result of one'));
  await turn[Symbol.asyncDispose]();

  const session = await gateway.request(`/api/v2/sessions/${id}/messages`);
  t.deepEqual([session.body.session_id, session.body.total], [id, 7]);
  t.is((await gateway.request(`/api/v2/sessions/${id}`, { method: 'DELETE' })).status, 204);
  t.is((await gateway.request(`/api/v2/sessions/${id}/messages`)).status, 404);
  t.deepEqual((await ask('GET', `/${id}/messages`)).body, { messages: [], total: 0 });
});

eachGatewayDatabase(
  test,
  'a conversation is not deleted during its first turn',
  async (t, { environment }) => {
    const { gateway, ask, begin, turnOf } = await start(t, environment as Record<string, string>);
    const { id } = await begin();
    {
      await using turn = await turnOf(id);
      for (const path of [`${PATH}/${id}`, `/api/v2/sessions/${id}`]) {
        const { status, body } = await gateway.request(path, { method: 'DELETE' });
        t.deepEqual([status, body.code], [409, 'session.busy'], path);
      }
      await turn.commit({
        model: 'demo',
        source: 'runtime',
        uses: [],
        messages: [{ role: 'user', content: 'one' }],
      });
    }
    t.is((await ask('GET', `/${id}/messages`)).body.total, 1);
    t.is((await ask('DELETE', `/${id}`)).status, 204);
    t.is((await gateway.request(`/api/v2/sessions/${id}/messages`)).status, 404);
  },
);

test('tenants, and users of one, have conversations of their own', async (t) => {
  const { gateway, ask, begin } = await start(t);
  const [one, two] = [await gateway.makeTenant(), await gateway.makeTenant()];
  const { apiKeys } = gateway.gateway.services;
  const grant = {
    name: 'user',
    roles: ['user'],
    scopes: ['read', 'write', 'execute'],
    expiresAt: null,
    createdBy: null,
  };
  const { key } = await apiKeys.create({ tenantId: one.id, ...grant });
  const ann = { 'x-svc-user-id': 'ann' };
  const { id } = await begin({}, key, ann);
  t.is((await ask('GET', `/${id}`, undefined, key, ann)).status, 200);
  t.is((await ask('GET', `/${id}`, undefined, key, { 'x-svc-user-id': 'ben' })).status, 403);
  t.is((await ask('GET', '', undefined, key, { 'x-svc-user-id': 'ben' })).body.total, 0);
  t.is((await ask('DELETE', `/${id}`, undefined, key, ann)).status, 403, 'that is for administrators');
  t.is((await ask('GET', `/${id}`, undefined, two.token)).status, 404);
  t.is((await ask('GET', '', undefined, two.token)).body.total, 0);
  t.is((await ask('GET', `/${id}`, undefined, one.token)).status, 200);
  const stolen = await gateway.request('/api/v2/chat/stream', {
    method: 'POST',
    token: key,
    headers: { 'x-svc-user-id': 'ben' },
    body: { agent_id: 'default', session_id: id, message: 'hi' },
  });
  t.true([403, 404].includes(stolen.status));
});
