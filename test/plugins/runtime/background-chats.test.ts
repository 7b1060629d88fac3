import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Clock, systemClock } from '../../../foundation/base/clock.ts';
import { eraseExpired } from '../../../foundation/data/database.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { ChatEventsTable } from '../../../plugins/runtime/store/chat-events.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../support/databases.ts';
import { type ProviderScript, sse, startFakeProvider, stream } from '../../support/fake-provider.ts';
import {
  ACP_TOKEN,
  startGatewayProcess,
  startInFolder,
  temporaryFolder,
} from '../../support/gateway-process.ts';
import { gate } from '../../support/plugins.ts';
import { connect, statusOf } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';
import { startRecords } from './records-gateway.ts';
import { eventsOf, startRuntime, toolCalls } from './runtime-gateway.ts';

const AGENT = `apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: Helps }
spec:
  type: chat_model_agent
  system_prompt: You help.
  tools: [{ ref: builtin/calculator, requires_approval: true }]
`;

/** An answer whose second half comes when it is let go. */
function halves() {
  let isOpen = false;
  const chunk = (content: string) => sse({ choices: [{ index: 0, delta: { role: 'assistant', content } }] });
  const script: ProviderScript = async ({ response, write, signal }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const word of ['one ', 'two ', 'three ']) await write(chunk(word));
    await until(() => isOpen || signal.aborted, 60_000);
    for (const word of ['four ', 'five\nsix']) await write(chunk(word));
    await write(sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.end('data: [DONE]\n\n');
  };
  return { script, letGo: () => (isOpen = true) };
}

async function start(
  t: ExecutionContext,
  scripts: readonly ProviderScript[],
  environments: readonly Record<string, string>[] = [{}],
  clocks: readonly Clock[] = [],
) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const replicas = await Promise.all(
    environments.map(async (env, index) => {
      const gateway = await startRuntime(t, {
        ...(clocks[index] && { clock: clocks[index] }),
        env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0', ...env },
      });
      await writeFile(path.join(gateway.folder, 'agents.d', 'helper.yaml'), AGENT);
      await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 1);
      return gateway;
    }),
  );
  return { provider, replicas, gateway: replicas[0]!, other: replicas.at(-1)! };
}

type Gateway = Awaited<ReturnType<typeof start>>['gateway'];

const BEGIN = { agent_id: 'helper', message: 'Count.', session_id: 's1', background: true };

/** Begins a chat, reads until `text` was there, and leaves. */
async function beginAndLeave(
  { url, token }: { readonly url: string; readonly token: string },
  text: string,
): Promise<string> {
  const leave = new AbortController();
  const response = await fetch(`${url}/api/v2/chat/stream?a2ui=true`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(BEGIN),
    signal: leave.signal,
  });
  const decoder = new TextDecoder();
  let seen = '';
  for await (const chunk of response.body!) {
    seen += decoder.decode(chunk as Uint8Array, { stream: true });
    if (seen.includes(text)) break;
  }
  leave.abort();
  return seen;
}

const read = (
  gateway: Gateway,
  {
    last,
    query = '?a2ui=true&session_id=s1',
    headers = {},
  }: {
    readonly last?: string;
    readonly query?: string;
    readonly headers?: Record<string, string>;
  } = {},
) =>
  gateway.request(`/api/v2/chat/stream${query}`, {
    headers: { ...headers, ...(last !== undefined && { 'last-event-id': last }) },
  });

const idsOf = (body: string) => [...body.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
const textOf = (body: string) =>
  eventsOf(body)
    .filter(({ event }) => event === 'text')
    .map(({ data }) => data.data.delta)
    .join('');
const idle = (gateway: Gateway) =>
  until(async () => {
    const { body } = await gateway.request('/api/v2/sessions/s1/messages');
    return body.messages?.length === 2;
  });

for (const ended of ['key', 'rotated key', 'tenant'] as const)
  eachGatewayDatabase(
    test,
    `a chat in the background ends with its ${ended}, on any replica`,
    async (t, { family, environment }) => {
      const environments = family === 'sqlite' ? [environment] : [environment, environment];
      const { provider, gateway, other } = await start(t, [halves().script], environments);
      const tenant = await gateway.makeTenant();
      await beginAndLeave({ url: gateway.url, token: tenant.token }, 'three');
      const { apiKeys, tenants } = other.gateway.services;
      const { records } = await apiKeys.list({ limit: 1, offset: 0, tenantId: tenant.id });
      const { id } = records[0]!;
      if (ended === 'key') await apiKeys.revoke(id);
      else if (ended === 'tenant') await tenants.scheduleDelete(tenant.id, new Date('2040-01-01'));
      else await apiKeys.rotate(id, { tenantId: tenant.id, createdBy: null });
      await until(() => provider.requests[0]!.isAborted);
      t.is(provider.requests.length, 1);
      if (ended === 'tenant') return;
      const administrator = { tenantId: tenant.id, roles: ['admin'], scopes: [], expiresAt: null };
      const { key } = await apiKeys.create({ ...administrator, name: 'next', createdBy: null });
      const { body } = await gateway.request('/api/v2/chat/stream?a2ui=true&session_id=s1', { token: key });
      t.like(eventsOf(body).at(-1), { event: 'error', data: { data: { code: 'permit.revoked' } } });
    },
  );

eachGatewayDatabase(
  test,
  'a chat in the background goes on without its client, and is read from any event on, on any replica',
  async (t, { family, environment }) => {
    const { script, letGo } = halves();
    const environments = family === 'sqlite' ? [environment] : [environment, environment];
    const { gateway, other } = await start(t, [script], environments);
    const seen = await beginAndLeave(gateway, 'three');
    const [first] = idsOf(seen);

    const following = read(other, { last: first! });
    const whole = read(other);
    letGo();
    const rest = String((await following).body);
    t.is(textOf(rest), 'two three four five\nsix');
    const all = String((await whole).body);
    t.is(textOf(all), 'one two three four five\nsix');
    const chatId = first!.split(':')[0];
    t.deepEqual(
      idsOf(all),
      ['1', '2', '3', '4', '5', '6'].map((seq) => `${chatId}:${seq}`),
    );
    t.deepEqual(idsOf(rest), idsOf(all).slice(1));
    t.is(eventsOf(all).at(-1)?.event, 'done');

    await idle(other);
    const { status, headers, body } = await read(other, { query: '?session_id=s1' });
    t.is(status, 200);
    t.is(headers.get('x-svc-session-id'), 's1');
    t.is(
      body.replaceAll(/^id: .*\n/gm, ''),
      'data: one \n\ndata: two \n\ndata: three \n\ndata: four \n\ndata: five\ndata: six\n\ndata: [DONE]\n\n',
    );
    const beyond = await read(other, { last: idsOf(all).at(-1)! });
    t.is(beyond.status, 204, 'there is nothing more, and browsers stop asking');
  },
);

test('a chat whose client stays is streamed as any other', async (t) => {
  const { gateway } = await start(t, [stream(['Hel', 'lo'])]);
  const { body, headers } = await gateway.request('/api/v2/chat/stream', { method: 'POST', body: BEGIN });
  t.is(headers.get('x-svc-session-id'), 's1');
  t.is(String(body).replaceAll(/^id: .*\n/gm, ''), 'data: Hel\n\ndata: lo\n\ndata: [DONE]\n\n');
});

test('events of chats do not repeat what was deleted of their conversation', async (t) => {
  const { gateway } = await start(t, [stream(['Hel', 'lo'])]);
  const created = await gateway.request('/api/v2/conversations', {
    method: 'POST',
    body: { bot_id: 'helper' },
  });
  const { id } = created.body.conversation;
  const begin = { ...BEGIN, session_id: id };
  await gateway.request('/api/v2/chat/stream?a2ui=true', { method: 'POST', body: begin });
  const events = () => gateway.request(`/api/v2/chat/stream?a2ui=true&session_id=${id}`);
  t.is(textOf((await events()).body), 'Hello');
  const { body } = await gateway.request(`/api/v2/conversations/${id}/messages`);
  const path = `/api/v2/conversations/${id}/messages/${body.messages.at(-1).id}`;
  t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
  t.is((await events()).status, 404);
});

test('a pause in the background is decided in the background', async (t) => {
  const { gateway } = await start(t, [
    toolCalls(['calculator', { expression: '6*7' }]),
    stream(['It is 42.']),
  ]);
  const post = (route: string, body: object) =>
    gateway.request(`/api/v2/chat/${route}?a2ui=true`, { method: 'POST', body });
  const names = (body: string) => eventsOf(body).map(({ event }) => event);
  t.deepEqual(names((await post('stream', BEGIN)).body), ['interrupt', 'done']);
  const decided = { agent_id: 'helper', session_id: 's1', input: { decision: 'approve' }, background: true };
  const { body } = await post('resume', decided);
  t.deepEqual(names(body), ['tool_call', 'tool_result', 'text', 'done']);
  t.deepEqual(idsOf((await read(gateway)).body), idsOf(body), 'the newest chat of the session is read');
  t.is((await post('resume', decided)).status, 409);
});

test('a failure in the background is the last event, for clients of both modes', async (t) => {
  let isOpen = false;
  const breaks: ProviderScript = async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await write(sse({ choices: [{ index: 0, delta: { role: 'assistant', content: 'So far' } }] }));
    await until(() => isOpen);
    response.destroy();
  };
  const { gateway } = await start(t, [breaks]);
  await beginAndLeave(gateway, 'So far');
  isOpen = true;
  const events = eventsOf((await read(gateway)).body);
  t.deepEqual(
    events.map(({ event }) => event),
    ['text', 'error'],
  );
  t.is(events[1]?.data.data.code, 'agent.failed');
  t.deepEqual(Object.keys(events[1]?.data.data), ['code', 'message']);
  const { body } = await read(gateway, { query: '?session_id=s1' });
  const [text, error, end] = eventsOf(body);
  t.is(text?.data, 'So far');
  t.like(error, { event: 'error', data: { status: 502, code: 'agent.failed' } });
  t.is(end?.data, '[DONE]');
  t.is((await gateway.request('/api/v2/sessions/s1/messages')).status, 404, 'nothing of it was stored');
});

test('a chat in the background that is aborted says so', async (t) => {
  const { script } = halves();
  const { gateway } = await start(t, [script]);
  await beginAndLeave(gateway, 'three');
  const place = { agent_id: 'helper', session_id: 's1' };
  const aborted = await gateway.request('/api/v2/chat/abort', { method: 'POST', body: place });
  t.is(aborted.status, 200);
  t.is(eventsOf((await read(gateway)).body).at(-1)?.data.data.code, 'chat.aborted');
});

test('who may not see a chat in the background cannot read it, and what is no event is refused', async (t) => {
  const { gateway } = await start(t, [stream(['mine'])]);
  await gateway.request('/api/v2/chat/stream', {
    method: 'POST',
    body: BEGIN,
    headers: { 'x-svc-user-id': 'ada' },
  });
  const mine = await read(gateway, { headers: { 'x-svc-user-id': 'ada' } });
  const [id] = idsOf(mine.body);
  const stranger = await gateway.makeTenant();
  const as = (token: string, last?: string) =>
    gateway.request('/api/v2/chat/stream?session_id=s1', {
      token,
      headers: last === undefined ? {} : { 'last-event-id': last },
    });
  t.like(await as(stranger.token), { status: 404, body: { code: 'chat.not-found' } });
  t.like(await as(stranger.token, id), { status: 404, body: { code: 'chat.not-found' } });
  const wanted = { tenantId: DEFAULT_TENANT_ID, name: 'key', roles: ['user'], scopes: [] };
  const { key } = await gateway.gateway.services.apiKeys.create({
    ...wanted,
    expiresAt: null,
    createdBy: null,
  });
  t.like(await as(key, id), { status: 403, body: { code: 'chat.forbidden' } });
  t.like(await read(gateway, { query: '?session_id=other', last: id! }), { status: 404 });
  t.like(await read(gateway, { last: 'x' }), {
    status: 400,
    body: { errors: [{ pointer: '/headers/last-event-id' }] },
  });
  t.is((await gateway.request('/api/v2/chat/stream')).body.errors[0].pointer, '/query/session_id');
});

eachGatewayDatabase(
  test,
  'events of chats are exported and erased with their user, go with their session, and end with their time',
  async (t, { environment }) => {
    const gateway = await startRecords(t, { env: environment });
    const chat = async (user: string, session_id: string) => {
      const headers = { 'x-svc-user-id': user };
      const { status } = await gateway.request('/api/v2/chat/stream', {
        method: 'POST',
        body: { ...BEGIN, session_id },
        headers,
      });
      t.is(status, 200);
    };
    const status = async (session: string) =>
      (await read(gateway, { query: `?session_id=${session}` })).status;
    await chat('ada', 's1');
    await chat('bob', 's2');
    await chat('bob', 's3');
    const batches = async (user?: string) =>
      (await gateway.exported(DEFAULT_TENANT_ID, user)).filter(({ section }) => section === 'chat_events');
    const adas = await batches('ada');
    t.true(adas.length > 0 && adas.every(({ record }) => record.session_id === 's1'));
    t.deepEqual([...new Set((await batches()).map(({ record }) => record.session_id))].sort(), [
      's1',
      's2',
      's3',
    ]);

    t.true(Number((await gateway.erase(DEFAULT_TENANT_ID, 'ada')).chat_events) > 0);
    t.deepEqual([await status('s1'), await status('s2')], [404, 200]);
    t.is((await gateway.request('/api/v2/sessions/s2', { method: 'DELETE' })).status, 204);
    t.deepEqual([await status('s2'), await status('s3')], [404, 200]);
    const old = { createdAt: { $lt: Date.now() + 1 } };
    await eraseExpired(gateway.database, ChatEventsTable, old, new AbortController().signal);
    t.is(await status('s3'), 404);
  },
);

test('who reads a chat of another replica does not hold up the end of this one', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const environments = [fresh.environment, fresh.environment];
  const { script, letGo } = halves();
  const { gateway, other } = await start(t, [script], environments);
  await beginAndLeave(gateway, 'three');
  const headers = { authorization: `Bearer ${other.token}` };
  const response = await fetch(`${other.url}/api/v2/chat/stream?a2ui=true&session_id=s1`, { headers });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (!seen.includes('three')) seen += (await reader.read()).value;
  await other.stop();
  while (!(await reader.read()).done);
  t.false(other.logs().some((line) => line.includes('calls that did not end in the drain time')));
  letGo();
  t.is(textOf((await read(gateway, { last: idsOf(seen).at(-1)! })).body), 'four five\nsix');
});

test('a chat in the background whose process was killed ends with an error', async (t) => {
  const { script } = halves();
  await using provider = await startFakeProvider(script);
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), AGENT);
  const env = { SVC_PLUGINS: 'records,agent-engine,runtime', LLM_API_URL: provider.url, LLM_MODEL: 'fake' };
  const before = await startGatewayProcess(t, folder, env);
  await beginAndLeave({ url: before.url, token: ACP_TOKEN }, 'three');
  await before.stop('SIGKILL');
  const after = await startInFolder(t, folder, env);
  const events = eventsOf(String((await after.request('/api/v2/chat/stream?a2ui=true&session_id=s1')).body));
  t.is(events.at(-1)?.event, 'error');
  t.is(events.at(-1)?.data.data.code, 'chat.lost');
});

test('a chat in the background that is about to begin when the gateway stops gets the drain time, too', async (t) => {
  const begins = gate();
  const { script, letGo } = halves();
  await using provider = await startFakeProvider(async (reply) => {
    await begins.opened;
    await script(reply);
  });
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), AGENT);
  const env = { SVC_PLUGINS: 'records,agent-engine,runtime', LLM_API_URL: provider.url, LLM_MODEL: 'fake' };
  const before = await startGatewayProcess(t, folder, env);
  const left = beginAndLeave({ url: before.url, token: ACP_TOKEN }, 'three');
  await until(() => provider.requests.length === 1);
  before.kill('SIGTERM');
  await until(() => before.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  begins.open();
  await left;
  await until(() => before.logs().some(({ msg, status }) => msg === 'request' && status === 499));
  letGo();
  t.is((await before.ended).code, 0);
  const after = await startInFolder(t, folder, env);
  const { body } = await after.request('/api/v2/chat/stream?a2ui=true&session_id=s1');
  t.is(textOf(body), 'one two three four five\nsix');
  t.is(eventsOf(body).at(-1)?.event, 'done');
});

test('a chat in the background of a call that a stop has waited for gets some time, too', async (t) => {
  const { script, letGo } = halves();
  await using provider = await startFakeProvider(script);
  const folder = await temporaryFolder(t);
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'helper.yaml'), AGENT);
  const env = { SVC_PLUGINS: 'records,agent-engine,runtime', LLM_API_URL: provider.url, LLM_MODEL: 'fake' };
  const before = await startGatewayProcess(t, folder, env);
  const body = JSON.stringify(BEGIN);
  const connection = await connect(before.url);
  t.teardown(() => connection.destroy());
  connection.write(
    'POST /api/v2/chat/stream?a2ui=true HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n' +
      `Authorization: Bearer ${ACP_TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await until(() => statusOf(connection.received()) === 100);
  before.kill('SIGTERM');
  await until(() => before.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  connection.write(body);
  await until(() => connection.received().includes('three'));
  connection.destroy();
  await until(() => before.logs().some(({ msg, status }) => msg === 'request' && status === 499));
  letGo();
  t.is((await before.ended).code, 0);
  const after = await startInFolder(t, folder, env);
  const { body: kept } = await after.request('/api/v2/chat/stream?a2ui=true&session_id=s1');
  t.is(textOf(kept), 'one two three four five\nsix');
  t.is(eventsOf(kept).at(-1)?.event, 'done');
});

test('the newest chat of a session is that which began last, whatever the clocks of the replicas show', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const environments = [fresh.environment, fresh.environment];
  const ahead = { ...systemClock, now: () => systemClock.now() + 3_600_000 };
  const scripts = [stream(['first']), stream(['second'])];
  const { gateway, other } = await start(t, scripts, environments, [ahead]);
  for (const replica of [gateway, other]) {
    const { status } = await replica.request('/api/v2/chat/stream', { method: 'POST', body: BEGIN });
    t.is(status, 200);
  }
  t.is(textOf((await read(other)).body), 'second');
});
