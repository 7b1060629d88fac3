import test from 'ava';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { failure, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startGrpcRuntime } from './grpc-kit.ts';
import { thinking, toolCalls } from './runtime-gateway.ts';

const types = (messages: readonly { readonly event_type: string }[]) =>
  messages.map(({ event_type }) => event_type).join(' ');

test('a chat streams its events, with the session in the initial metadata and in what is stored', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t, [
    toolCalls(['calculator', { expression: '6*7' }]),
    stream(['It is ', '42.']),
  ]);
  const chat = client('conversation');
  const { code, messages, message, metadata } = await chat.call('Chat', {
    message: '6*7?',
    extra: { agent_name: 'payer', unknown: 1 },
  });
  t.is(code, 'OK');
  t.is(types(messages), 'tool_call tool_result delta delta message done');
  t.like(messages[0].tool_call, { name: 'calculator', status: 'calling', agent_path: ['payer'] });
  t.deepEqual(JSON.parse(messages[0].tool_call.arguments), { expression: '6*7' });
  t.like(messages[1].tool_call, {
    id: messages[0].tool_call.id,
    status: 'completed',
    result: '42',
    is_error: false,
  });
  t.deepEqual(messages[4].message, { role: 'assistant', content: 'It is 42.' });
  t.like(message, { finish_reason: 'stop', session_id: metadata['x-svc-session-id'] });
  t.true(message.usage.total_tokens > 0);
  t.is(message.usage.total_tokens, message.usage.prompt_tokens + message.usage.completion_tokens);
  const { body } = await gateway.request(`/api/v2/sessions/${message.session_id}/messages`);
  t.is(body.messages.at(-1).content, 'It is 42.');
});

test('thoughts and tasks that are handed to other agents are events', async (t) => {
  const { client } = await startGrpcRuntime(t, [
    toolCalls(['delegate_to_payer', { task: '6*7?' }]),
    thinking(['Six times', ' seven.'], ['42']),
    thinking(['Well.'], ['It is 42.']),
  ]);
  const { code, messages } = await client('conversation').call('Chat', {
    message: '6*7?',
    extra: { agent_name: 'boss' },
  });
  t.is(code, 'OK');
  t.is(types(messages), 'tool_call agent_switch agent_switch tool_result thinking delta message done');
  const [called, to, back, result, thought] = messages;
  t.like(called.tool_call, { name: 'delegate_to_payer', agent_path: ['boss'] });
  t.deepEqual(to.agent_switch, { from_agent: 'boss', to_agent: 'payer' });
  t.deepEqual(back.agent_switch, { from_agent: 'payer', to_agent: 'boss' });
  t.like(result.tool_call, { result: '42', is_error: false });
  t.is(thought.thinking, 'Well.');
});

test('an approval is an event, and the chat goes on over HTTP', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t, [
    toolCalls(['current_time', {}]),
    stream(['It is late.']),
  ]);
  const asked = { message: 'What time is it?', extra: { agent_name: 'payer' } };
  const { messages, message } = await client('conversation').call('Chat', asked);
  t.is(types(messages), 'interrupt done');
  t.is(message.finish_reason, 'interrupted');
  t.like(messages[0].interrupt, { type: 'approval', agent_path: ['payer'] });
  t.like(messages[0].interrupt.tool_call, { name: 'current_time', arguments: '{}' });
  const again = await client('conversation').call('Chat', { ...asked, session_id: message.session_id });
  t.deepEqual([again.code, again.metadata['svc-error-code']], ['FAILED_PRECONDITION', 'chat.interrupted']);
  const body = {
    agent_id: 'payer',
    session_id: message.session_id,
    input: { [messages[0].interrupt.id]: { decision: 'approve' } },
  };
  const resumed = await gateway.request('/api/v2/chat/resume', { method: 'POST', body });
  t.regex(resumed.body, /It is late/);
});

test('without an agent that of the conversation answers, and elsewhere the default agent', async (t) => {
  const { client, provider } = await startGrpcRuntime(t, [stream(['Hello.'])]);
  const chat = client('conversation');
  const created = await chat.call('CreateConversation', { bot_id: 'payer', title: 'Bills' });
  const { id } = created.message.conversation;
  t.is((await chat.call('Chat', { session_id: id, message: 'hi' })).message.session_id, id);
  const system = () => provider.requests.at(-1)?.body.messages[0];
  t.regex(system().content, /You pay\./);
  t.is((await chat.call('Chat', { message: 'hi' })).code, 'OK');
  t.notRegex(JSON.stringify(system()), /You pay\./);
  const names = provider.requests
    .at(-1)
    ?.body.tools.map((tool: { function: { name: string } }) => tool.function.name);
  t.true(names.includes('calculator') && names.includes('memory_save'));
});

test('wrong requests name their fields, an unknown agent is not found', async (t) => {
  const { client } = await startGrpcRuntime(t);
  const chat = client('conversation');
  const empty = await chat.call('Chat', { session_id: 'a b', extra: { agent_name: 7 } });
  t.is(empty.code, 'INVALID_ARGUMENT');
  t.deepEqual(empty.violations.map(({ field }) => field).sort(), [
    'extra.agent_name',
    'message',
    'session_id',
  ]);
  const unknown = await chat.call('Chat', { message: 'hi', extra: { agent_name: 'nobody' } });
  t.deepEqual([unknown.code, unknown.metadata['svc-error-code']], ['NOT_FOUND', 'agent.not-found']);
});

test('a chat that fails after it began sends an event and ends with the status', async (t) => {
  const { client } = await startGrpcRuntime(t, [
    toolCalls(['calculator', { expression: '1+1' }]),
    failure(500),
    failure(500),
  ]);
  const chat = client('conversation');
  const asked = { message: 'hi', extra: { agent_name: 'payer' } };
  const { code, messages, metadata } = await chat.call('Chat', asked);
  t.is(types(messages), 'tool_call tool_result error');
  t.is(code, 'UNAVAILABLE');
  t.is(messages[2].error.code, metadata['svc-error-code']);
  t.is(messages[2].error.code, 'agent.failed');
  t.truthy(messages[2].error.message);
  const before = await chat.call('Chat', asked);
  t.deepEqual(
    [before.code, before.messages],
    ['UNAVAILABLE', []],
    'before anything was sent: the status alone',
  );
});

test('a cancelled call and a deadline end the model call, and store nothing', async (t) => {
  const { client, provider, gateway } = await startGrpcRuntime(t, [
    async ({ response, signal, write }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { choices: [{ index: 0, delta: { content: 'One' } }] };
      await write(
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...chunk })}\n\n`,
      );
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  ]);
  const chat = client('conversation');
  const call = chat.open('Chat');
  call.send({ message: 'hi', session_id: 'cancelled', extra: { agent_name: 'payer' } });
  call.end();
  t.like((await call.messages.next()).value, { event_type: 'delta', delta: 'One' });
  call.cancel();
  t.is((await call.answer).code, 'CANCELLED');
  await until(() => provider.requests[0]?.isAborted === true);

  const late = await chat.call('Chat', { message: 'hi', session_id: 'late' }, { timeout: 1_500 });
  t.is(late.code, 'DEADLINE_EXCEEDED');
  await until(() => provider.requests[1]?.isAborted === true);
  for (const id of ['cancelled', 'late'])
    t.is((await gateway.request(`/api/v2/sessions/${id}/messages`)).status, 404);
});

test('an open chat ends when its credential is revoked, and stores nothing', async (t) => {
  const { client, provider, gateway } = await startGrpcRuntime(t, [
    async ({ response, signal }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  ]);
  const { apiKeys } = gateway.gateway.services;
  const grant = { tenantId: DEFAULT_TENANT_ID, name: 'k', roles: ['user'], scopes: [] };
  const { key, record } = await apiKeys.create({ ...grant, expiresAt: null, createdBy: null });
  const call = client('conversation', { token: key }).open('Chat');
  call.send({ message: 'hi', session_id: 'revoked', extra: { agent_name: 'payer' } });
  call.end();
  await until(() => provider.requests.length === 1);
  t.true(await apiKeys.revoke(record.id));
  t.is((await call.answer).code, 'UNAUTHENTICATED');
  await until(() => provider.requests[0]?.isAborted === true);
  t.is((await gateway.request('/api/v2/sessions/revoked/messages')).status, 404);
});

test('an open chat counts against the streams of a user', async (t) => {
  const { client } = await startGrpcRuntime(
    t,
    [
      async ({ response, signal }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    ],
    { SVC_MAX_STREAMS_PER_USER: '1' },
  );
  const chat = client('conversation');
  const call = chat.open('Chat');
  call.send({ message: 'hi' });
  call.end();
  const second = () => chat.call('Chat', { message: 'hi' }, { timeout: 2_000 });
  await until(async () => (await second()).code === 'RESOURCE_EXHAUSTED');
  call.cancel();
  t.is((await call.answer).code, 'CANCELLED');
});
