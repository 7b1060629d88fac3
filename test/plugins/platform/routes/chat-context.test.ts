import test, { type ExecutionContext } from 'ava';
import platform from '../../../../plugins/platform/plugin.ts';
import { startFakeProvider } from '../../../support/fake-provider.ts';
import { PROTOS, SERVICES } from '../../runtime/grpc-kit.ts';
import { startRuntime } from '../../runtime/runtime-gateway.ts';

const SOUL = 'You are a lighthouse keeper.';
const MEMORY = 'Likes green tea.';

/** A gateway whose default tenant has a personality and a memory, and what the model was last asked. */
async function start(t: ExecutionContext) {
  const provider = await startFakeProvider();
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startRuntime(t, {
    plugins: [platform],
    env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake' },
  });
  const { request } = gateway;
  const text = { method: 'PUT', headers: { 'content-type': 'text/plain' } };
  t.is((await request('/v1/soul', { ...text, body: SOUL })).status, 204);
  await request('/v1/memories/tea', { method: 'PUT', body: { value: MEMORY } });
  const asked = () => JSON.stringify(provider.requests.at(-1)?.body.messages);
  const hasContext = () => asked().includes(SOUL) && asked().includes(MEMORY);
  const hasNone = () => !asked().includes(SOUL) && !asked().includes(MEMORY);
  return { gateway, request, provider, hasContext, hasNone };
}

const messages = [{ role: 'user', content: 'Hello' }];
const none = { 'x-svc-context': 'none' };

test('a request may decline the context that the gateway adds, on every chat route', async (t) => {
  const { request, hasContext, hasNone, gateway } = await start(t);
  const routes: readonly (readonly [path: string, body: object])[] = [
    ['/v1/chat/completions', { model: 'default', messages }],
    ['/v1/agent/chat', { messages }],
    ['/api/v2/chat/stream', { agent_id: 'assistant', message: 'Hello' }],
  ];
  const made = await request('/api/v2/admin/agents', {
    method: 'POST',
    body: {
      yaml: 'apiVersion: svc/v1\nkind: Agent\nmetadata: { name: assistant }\nspec: { type: chat_model_agent, system_prompt: Help. }\n',
    },
  });
  t.is(made.status, 201);
  for (const [path, body] of routes) {
    t.is((await request(path, { method: 'POST', body })).status, 200, path);
    t.true(hasContext(), path);
    t.is((await request(path, { method: 'POST', body, headers: none })).status, 200, path);
    t.true(hasNone(), path);
    const wrong = await request(path, { method: 'POST', body, headers: { 'x-svc-context': 'some' } });
    t.is(wrong.status, 400, path);
    t.regex(JSON.stringify(wrong.body), /x-svc-context/);
    const unnamed = await request(path, { method: 'POST', body, headers: { 'x-svc-task-class': 'A b' } });
    t.is(unnamed.status, 400, path);
    t.regex(JSON.stringify(unnamed.body), /x-svc-task-class/);
  }
  const chat = gateway.grpc({
    proto: new URL('svc/conversation/v1/conversation.proto', PROTOS),
    service: SERVICES.conversation,
  });
  const ask = (metadata: Record<string, string>) =>
    chat.call('Chat', { message: 'Hello', extra: { agent_name: 'assistant' } }, { metadata });
  t.is((await ask({})).code, 'OK');
  t.true(hasContext());
  t.is((await ask(none)).code, 'OK');
  t.true(hasNone());
  t.is((await ask({ 'x-svc-context': 'some' })).code, 'INVALID_ARGUMENT');
  t.is((await ask({ 'x-svc-task-class': 'sums' })).code, 'OK');
  t.is((await ask({ 'x-svc-task-class': 'Sums and more' })).code, 'INVALID_ARGUMENT');
});

test('a tenant may decline it for all of its chat completions, and its requests may ask for it all the same', async (t) => {
  const { request, hasContext, hasNone, gateway } = await start(t);
  const completion = (headers = {}) =>
    request('/v1/chat/completions', { method: 'POST', body: { model: 'default', messages }, headers });
  const tenant = '/v1/tenants/00000000-0000-0000-0000-000000000001';
  t.is((await request(tenant)).body.chat_context, 'full');
  const changed = await request(tenant, { method: 'PUT', body: { chat_context: 'none' } });
  t.is(changed.body.chat_context, 'none');
  t.is((await completion()).status, 200);
  t.true(hasNone());
  t.is((await completion({ 'x-svc-context': 'full' })).status, 200);
  t.true(hasContext());
  t.is((await request('/v1/agent/chat', { method: 'POST', body: { messages } })).status, 200);
  t.true(hasContext(), 'agents keep it');
  const wrong = await request(tenant, { method: 'PUT', body: { chat_context: 'some' } });
  t.is(wrong.body.errors[0].pointer, '/body/chat_context');

  const own = await gateway.makeTenant();
  const mine = await request(`/v1/tenants/${own.id}`, {
    method: 'PUT',
    body: { chat_context: 'none' },
    token: own.token,
  });
  t.deepEqual([mine.status, mine.body.chat_context], [200, 'none'], 'its own administrators decide it');
});
