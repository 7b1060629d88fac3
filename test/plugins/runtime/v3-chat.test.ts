import {
  APIError,
  AuthenticationError,
  BadRequestError,
  ChatStatus,
  NotFoundError,
  RateLimitError,
  RoleType,
  type StreamChatData,
} from '@coze/api';
import test from 'ava';
import { CompiledQuery } from 'kysely';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { SessionMessageEntity } from '../../../plugins/records/store/sessions.ts';
import { ChatEntity } from '../../../plugins/runtime/store/chats.ts';
import { eachGatewayDatabase, gatewayDatabase } from '../../support/databases.ts';
import { failure, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { all, approvalAsked, clientOf, hang, settled, startCoze, startProvider } from './coze-kit.ts';
import { startRecords } from './records-gateway.ts';
import { eventsOf, thinking, toolCalls } from './runtime-gateway.ts';
import { LOCAL, makeWebhook, startReceiver } from './webhook-kit.ts';

const say = (content: string) => [
  { role: RoleType.User, content, content_type: 'text' as const, type: 'question' as const },
];
const NO_USAGE = { token_count: 0, output_count: 0, input_count: 0 };
const names = (events: readonly { readonly event: string }[]) => events.map(({ event }) => event);
// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
const dataOf = (event: StreamChatData | undefined) => event?.data as any;

eachGatewayDatabase(test, 'a chat goes on in the background and is polled', async (t, { environment }) => {
  const provider = await startProvider(t, toolCalls(['current_time', {}]), stream(['It is', ' late.']));
  const { coze } = await startCoze(t, provider, { env: environment });
  const { id: conversation_id } = await coze.conversations.create({ bot_id: 'payer', meta_data: { a: 'b' } });
  const polled = await coze.chat.createAndPoll({
    bot_id: 'payer',
    conversation_id,
    additional_messages: say('What time is it? \u0000\ud800'),
    meta_data: { ticket: '7' },
  });
  t.like(polled.chat, { conversation_id, bot_id: 'payer', status: ChatStatus.COMPLETED });
  t.deepEqual(polled.chat.meta_data, { ticket: '7' });
  t.true(polled.chat.usage!.token_count > 0);
  t.is(String(polled.chat.created_at).length, 10);
  const messages = polled.messages!;
  t.deepEqual(
    messages.map(({ type }) => type),
    ['function_call', 'tool_response', 'answer'],
  );
  t.is(messages.at(-1)?.content, 'It is late.');
  t.is(messages.at(-1)?.chat_id, polled.chat.id);

  const listed = await coze.conversations.messages.list(conversation_id, { order: 'asc' });
  t.deepEqual(
    listed.data.map(({ type }) => type as string),
    ['question', 'function_call', 'tool_response', 'answer'],
  );
  const first = await coze.conversations.messages.list(conversation_id, { limit: 3 });
  t.deepEqual([first.has_more, first.data[0]?.content], [true, 'It is late.']);
  const rest = await coze.conversations.messages.list(conversation_id, { after_id: first.last_id });
  t.deepEqual([rest.has_more, rest.data.map(({ id }) => id)], [false, [listed.first_id]]);
  const front = await coze.conversations.messages.list(conversation_id, { before_id: first.last_id });
  t.deepEqual(
    front.data.map(({ id }) => id),
    first.data.slice(0, 2).map(({ id }) => id),
  );
  const ofChat = await coze.conversations.messages.list(conversation_id, { chat_id: polled.chat.id });
  t.is(ofChat.data.length, 3);
});

test('a message that is deleted is in no list of its chat, also where the first try broke off', async (t) => {
  const provider = await startProvider(t, stream(['It is', ' late.']));
  const { gateway, coze } = await startCoze(t, provider);
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  const { conversation_id } = chat;
  const [answer] = (await coze.conversations.messages.list(conversation_id)).data;
  const list = () => coze.chat.messages.list(conversation_id, chat.id);
  t.is((await list())[0]?.content, 'It is late.');

  const kysely = gateway.gateway.services.database.system().getKysely();
  const run = (text: string) => kysely.executeQuery(CompiledQuery.raw(text));
  const path = `/api/v2/conversations/${conversation_id}/messages/${answer!.id}`;
  const remove = () => gateway.request(path, { method: 'DELETE' });
  await run("create trigger broken before update on runtime_chats begin select raise(abort, 'no'); end");
  t.is((await remove()).status, 500);
  await run('drop trigger broken');
  t.is((await remove()).status, 204);
  t.deepEqual(await list(), []);
});

eachGatewayDatabase(test, 'a chat in the background ends with its key', async (t, { environment }) => {
  const provider = await startProvider(t, hang);
  const { gateway } = await startCoze(t, provider, { env: environment });
  const { id: tenantId, token } = await gateway.makeTenant();
  const coze = clientOf({ url: gateway.url, token });
  await coze.chat.create({ bot_id: 'payer', additional_messages: say('Wait.') });
  await until(() => provider.requests.length === 1);
  const { apiKeys } = gateway.gateway.services;
  const { records } = await apiKeys.list({ limit: 1, offset: 0, tenantId });
  await apiKeys.revoke(records[0]!.id);
  await until(() => provider.requests[0]!.isAborted);
  t.is(provider.requests.length, 1);
});

test('a stream has the events of the SDK, and its framing', async (t) => {
  const provider = await startProvider(t, stream(['Hel', 'lo']));
  const { gateway, coze } = await startCoze(t, provider);
  const events = await all(coze.chat.stream({ bot_id: 'payer', additional_messages: say('hi') }));
  t.deepEqual(names(events), [
    'conversation.chat.created',
    'conversation.chat.in_progress',
    'conversation.message.delta',
    'conversation.message.delta',
    'conversation.message.completed',
    'conversation.chat.completed',
    'done',
  ]);
  t.like(dataOf(events[0]), { status: 'created', bot_id: 'payer', usage: NO_USAGE });
  t.like(dataOf(events[1]), { status: 'in_progress', usage: NO_USAGE });
  t.like(dataOf(events[2]), { role: 'assistant', type: 'answer', content: 'Hel', content_type: 'text' });
  t.is(dataOf(events[4]).content, 'Hello');
  t.is(dataOf(events[4]).id, dataOf(events[2]).id);
  const chat = dataOf(events[5]);
  t.is((await coze.chat.retrieve(chat.conversation_id, chat.id)).status, ChatStatus.COMPLETED);
  t.deepEqual((await coze.chat.messages.list(chat.conversation_id, chat.id))[0]?.id, dataOf(events[4]).id);

  const body = { bot_id: 'payer', stream: true, additional_messages: say('hi') };
  const raw = await gateway.request('/v3/chat', { method: 'POST', body });
  t.is(raw.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.regex(
    raw.body,
    /^event: conversation\.chat\.created\ndata: \{"id":.*\n\nevent: done\ndata: "\[DONE\]"\n\n$/s,
  );
  const got = await gateway.request(
    `/v3/chat/retrieve?conversation_id=${chat.conversation_id}&chat_id=${chat.id}`,
  );
  t.like(got.body, { code: 0, msg: '', data: { id: chat.id } });
});

test('thoughts are the reasoning of the answer, in its pieces, whole, and in every list', async (t) => {
  const { coze } = await startCoze(t, await startProvider(t, thinking(['Greet', ' back.'], ['Hel', 'lo'])));
  const events = await all(coze.chat.stream({ bot_id: 'payer', additional_messages: say('hi') }));
  const messages = events.filter(({ event }) => event.startsWith('conversation.message.'));
  t.deepEqual(
    messages.map((event) => [dataOf(event).reasoning_content, dataOf(event).content]),
    [
      ['Greet', ''],
      [' back.', ''],
      [undefined, 'Hel'],
      [undefined, 'lo'],
      ['Greet back.', 'Hello'],
    ],
  );
  t.is(new Set(messages.map((event) => dataOf(event).id)).size, 1);
  const { conversation_id, id } = dataOf(events.at(-2));
  const [listed] = await coze.chat.messages.list(conversation_id, id);
  t.like(listed, { content: 'Hello', reasoning_content: 'Greet back.' });
  const [kept] = (await coze.conversations.messages.list(conversation_id, { chat_id: id })).data;
  t.like(kept, { content: 'Hello' });
});

test('what clients in other languages leave open may be null or empty', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['Hello'])));
  const post = (path: string, body: object) => gateway.request(path, { method: 'POST', body });
  const message = { role: 'user', type: '', content: 'hi', content_type: '' };
  // The SDK for Python encodes a parameter that it leaves open as an empty one.
  const begun = await post('/v3/chat?conversation_id=', { bot_id: 'payer', additional_messages: [message] });
  t.is(begun.status, 200, JSON.stringify(begun.body));
  await settled(coze, begun.body.data);
  const { id: chat_id, conversation_id: id } = begun.body.data;
  const open = { order: null, chat_id: null, before_id: null, after_id: null, limit: null };
  const made = await post('/v1/conversation/create', { bot_id: '', meta_data: null });
  t.like(made.body, { code: 0, data: { meta_data: {} } });
  const kept = { bot_id: 'payer', conversation_id: null, meta_data: null };
  const again = await post('/v3/chat', { ...kept, additional_messages: [message] });
  t.is(again.status, 200, JSON.stringify(again.body));
  await settled(coze, again.body.data);
  for (const body of [open, { ...open, chat_id: '', before_id: '', after_id: '' }, { ...open, chat_id }]) {
    const listed = await post(`/v1/conversation/message/list?conversation_id=${id}`, body);
    t.like(listed.body, { code: 0, data: [{ content: 'Hello' }], has_more: false });
  }
});

test('a conversation holds what was said before, also by its creation', async (t) => {
  const provider = await startProvider(t, stream(['Ada.']));
  const { gateway, coze } = await startCoze(t, provider);
  const made = await coze.conversations.create({ messages: say('I am Ada.'), meta_data: { a: 'b' } });
  t.deepEqual((await coze.conversations.retrieve(made.id)).meta_data, { a: 'b' });
  const parts = [
    { type: 'text', text: 'Who am I?' },
    { type: 'image', file_url: 'https://example.org/a.png' },
  ] as const;
  await coze.chat.createAndPoll({
    bot_id: 'payer',
    conversation_id: made.id,
    additional_messages: [{ role: RoleType.User, content: [...parts], content_type: 'object_string' }],
  });
  const asked = provider.requests[0]?.body.messages.slice(1);
  t.deepEqual(asked, [
    { role: 'user', content: 'I am Ada.' },
    {
      role: 'user',
      content: [parts[0], { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }],
    },
  ]);
  const v2 = await gateway.request(`/api/v2/conversations/${made.id}/messages`);
  t.is(v2.body.total, 3);
});

test('nothing of a chat without history is kept', async (t) => {
  const { coze } = await startCoze(t, await startProvider(t, stream(['Hello'])));
  const body = { bot_id: 'payer', auto_save_history: false, additional_messages: say('hi') };
  const events = await all(coze.chat.stream(body));
  const chat = dataOf(events.at(-2));
  t.is(chat.status, 'completed');
  t.deepEqual(await coze.chat.messages.list(chat.conversation_id, chat.id), []);
  t.is((await coze.conversations.messages.list(chat.conversation_id)).data.length, 0);
});

test('an approval waits for its output, over a stop of the gateway, and is given once', async (t) => {
  const fresh = await gatewayDatabase(t, 'sqlite');
  const provider = await startProvider(t, approvalAsked, stream(['It is 42.']));
  const first = await startCoze(t, provider, { env: fresh!.environment });
  const events = await all(first.coze.chat.stream({ bot_id: 'payer', additional_messages: say('6*7?') }));
  t.deepEqual(names(events.slice(-2)), ['conversation.chat.requires_action', 'done']);
  await first.gateway.stop();

  const { coze, gateway: second } = await startCoze(t, provider, { env: fresh!.environment });
  const { conversation_id, id: chat_id } = dataOf(events.at(-2));
  const chat = await coze.chat.retrieve(conversation_id, chat_id);
  t.is(chat.status, ChatStatus.REQUIRES_ACTION);
  const [call, ...others] = chat.required_action!.submit_tool_outputs.tool_calls;
  t.deepEqual(others, []);
  t.like(call, { type: 'function', function: { name: 'calculator', arguments: '{"expression":"6*7"}' } });
  const submit = (tool_call_id: string, output: string) => () =>
    all(
      coze.chat.submitToolOutputs({
        conversation_id,
        chat_id,
        stream: true,
        tool_outputs: [{ tool_call_id, output }],
      }),
    );
  await t.throwsAsync(submit('nothing', 'approve'), { instanceOf: BadRequestError });
  const unknown = await second.request(
    `/v3/chat/submit_tool_outputs?conversation_id=${conversation_id}&chat_id=${chat_id}`,
    { method: 'POST', body: { tool_outputs: [{ tool_call_id: 'nothing', output: 'approve' }] } },
  );
  t.is(unknown.status, 400);
  t.regex(unknown.body.msg, /tool_outputs\[0\]\.tool_call_id is no call.*tool_outputs has no output for/);
  await t.throwsAsync(submit(call!.id, 'perhaps'), { instanceOf: BadRequestError });

  const both = await Promise.allSettled([submit(call!.id, 'approve')(), submit(call!.id, 'approve')()]);
  const won = both.filter((one) => one.status === 'fulfilled');
  t.is(won.length, 1);
  const resumed = won[0]!.value;
  t.deepEqual(names(resumed.slice(-2)), ['conversation.chat.completed', 'done']);
  t.like(dataOf(resumed.at(-3)), { type: 'answer', content: 'It is 42.' });
  t.true(dataOf(resumed.at(-2)).usage.token_count > chat.usage!.token_count);
  // The SDK does not read the body of an answer to a stream that is none.
  await t.throwsAsync(submit(call!.id, 'approve'), { instanceOf: APIError });
});

test('webhooks hear of chats, also of those that nothing is kept of or that fail', async (t) => {
  const { url, received } = await startReceiver(t);
  const provider = await startProvider(t, approvalAsked, stream(['Hello']), failure(500));
  const { coze, gateway } = await startCoze(t, provider, { env: LOCAL });
  await makeWebhook(gateway, { url, events: ['agent.run.*'] });
  const heard = async (count: number) => {
    await until(() => received.length === count);
    return received.at(-1)!.body;
  };
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('6*7?') });
  const waiting = await heard(1);
  t.like(waiting, { type: 'agent.run.interrupted', data: { agent_id: 'payer' } });
  t.is(waiting.data.session_id, chat.conversation_id);
  const unkept = { bot_id: 'payer', auto_save_history: false, additional_messages: say('hi') };
  await all(coze.chat.stream(unkept));
  t.like(await heard(2), { type: 'agent.run.completed', data: { agent_id: 'payer', session_id: null } });
  await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  t.like(await heard(3), { type: 'agent.run.failed', data: { error_code: 'agent.failed' } });
});

test('a question is answered, and what goes on in the background too', async (t) => {
  const ask = toolCalls(['ask_user', { question: 'Which one?', options: ['a', 'b'] }]);
  const { coze } = await startCoze(t, await startProvider(t, ask, stream(['b it is.'])));
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('Pay') });
  const [call] = chat.required_action!.submit_tool_outputs.tool_calls;
  t.is(call?.function.name, 'ask_user');
  const outputs = coze.chat.submitToolOutputs({
    conversation_id: chat.conversation_id,
    chat_id: chat.id,
    stream: false,
    tool_outputs: [{ tool_call_id: call!.id, output: 'b' }],
  });
  t.like((await outputs.next()).value, { status: ChatStatus.IN_PROGRESS });
  t.is((await settled(coze, chat)).status, ChatStatus.COMPLETED);
});

test('a chat that breaks has failed, and says why', async (t) => {
  const { coze } = await startCoze(t, await startProvider(t, failure(500)));
  const { chat, messages } = await coze.chat.createAndPoll({
    bot_id: 'payer',
    additional_messages: say('hi'),
  });
  t.is(chat.status, ChatStatus.FAILED);
  t.is(chat.last_error?.code, 5000);
  t.deepEqual(chat.usage as object, NO_USAGE);
  t.regex(chat.last_error!.msg, /^The agent failed/);
  t.deepEqual(messages, []);
  const events = await all(coze.chat.stream({ bot_id: 'payer', additional_messages: say('hi') }));
  t.deepEqual(names(events.slice(-2)), ['conversation.chat.failed', 'done']);
  t.is(dataOf(events.at(-2)).last_error.code, 5000);
});

test('canceling ends what is in flight or waits, and nothing else', async (t) => {
  const provider = await startProvider(t, hang, hang, approvalAsked, stream(['Hello']));
  const { gateway, coze } = await startCoze(t, provider);
  const create = () => coze.chat.create({ bot_id: 'payer', additional_messages: say('hi') });
  const flying = await create();
  await until(() => provider.requests.length === 1);
  t.is((await coze.chat.cancel(flying.conversation_id, flying.id)).status, ChatStatus.CANCELED);
  await until(() => provider.requests[0]!.isAborted);
  t.is((await coze.chat.cancel(flying.conversation_id, flying.id)).status, ChatStatus.CANCELED);
  t.is((await settled(coze, flying)).status, ChatStatus.CANCELED);

  const aborted = await create();
  await until(() => provider.requests.length === 2);
  const place = { agent_id: 'payer', session_id: aborted.conversation_id };
  t.is((await gateway.request('/api/v2/chat/abort', { method: 'POST', body: place })).status, 200);
  t.is((await settled(coze, aborted)).status, ChatStatus.CANCELED);

  const waiting = await create();
  t.is((await settled(coze, waiting)).status, ChatStatus.REQUIRES_ACTION);
  await coze.chat.cancel(waiting.conversation_id, waiting.id);
  t.is((await gateway.request('/api/v2/chat/interrupts')).body.total, 0);
  const { chat } = await coze.chat.createAndPoll({
    bot_id: 'payer',
    conversation_id: waiting.conversation_id,
    additional_messages: say('hi'),
  });
  t.is(chat.status, ChatStatus.COMPLETED);
  await t.throwsAsync(coze.chat.cancel(chat.conversation_id, chat.id), { message: /it is completed/ });
});

test('a client that leaves its stream cancels the chat', async (t) => {
  const provider = await startProvider(t, hang);
  const { gateway, coze } = await startCoze(t, provider);
  const left = new AbortController();
  const response = await fetch(`${gateway.url}/v3/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ bot_id: 'payer', stream: true, additional_messages: say('hi') }),
    signal: left.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const [created] = eventsOf((await reader.read()).value!.split('\n\n')[0]!);
  await until(() => provider.requests.length === 1);
  left.abort();
  // What came before he left may still be read.
  await t.throwsAsync(async () => {
    while (!(await reader.read()).done);
  });
  t.is((await settled(coze, created!.data)).status, ChatStatus.CANCELED);
});

test('all that is wrong with a chat or a conversation is told at once', async (t) => {
  const { gateway } = await startCoze(t, await startProvider(t));
  const told = async (where: string, body: object) => {
    const answer = await gateway.request(where, { method: 'POST', body });
    t.is(answer.status, 400);
    t.is(answer.body.code, 4000);
    return answer.body.msg as string;
  };
  const parts = [...say('hi'), { role: 'user', content: 'no list', content_type: 'object_string' }];
  const all = await told('/v3/chat', { auto_save_history: false, additional_messages: parts });
  t.regex(all, /bot_id is required/);
  t.regex(all, /additional_messages\[1\]\.content must be the JSON text/);
  t.regex(all, /auto_save_history may be false only/);
  const silent = { bot_id: 7 };
  t.regex(await told('/v3/chat', silent), /bot_id must be.*additional_messages is needed/);
  // The query may name the conversation that goes on.
  t.notRegex(await told('/v3/chat?conversation_id=x', silent), /additional_messages/);
  t.notRegex(await told('/v3/chat', { ...silent, additional_messages: 7 }), /is needed/);
  const made = await told('/v1/conversation/create', { bot_id: 7, messages: parts });
  t.regex(made, /bot_id must be.*messages\[1\]\.content must be the JSON text/);
  t.regex(await told('/v1/conversation/create', { messages: parts }), /messages\[1\].content must be/);
});

test('what cannot begin is an error of the SDK', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t));
  const additional_messages = say('hi');
  const unknown = await t.throwsAsync(coze.chat.create({ bot_id: 'nobody', additional_messages }), {
    instanceOf: NotFoundError,
  });
  t.is(unknown!.code, 4200);
  t.regex(unknown!.logid!, /^[0-9a-f-]{36}$/);
  const lost = clientOf({ url: `${gateway.url}/wrong`, token: gateway.token });
  for (const client of [coze, lost]) {
    const streamed = all(client.chat.stream({ bot_id: 'nobody', additional_messages }));
    const unread = await t.throwsAsync(streamed, { instanceOf: NotFoundError, message: /^logid: / });
    t.regex(unread!.logid!, /^[0-9a-f-]{36}$/, 'of a stream the SDK reads no body');
  }
  const nowhere = { bot_id: 'payer', conversation_id: 'nowhere', additional_messages };
  await t.throwsAsync(coze.chat.create(nowhere), { instanceOf: NotFoundError });
  await t.throwsAsync(coze.chat.retrieve('nowhere', 'nothing'), { instanceOf: NotFoundError });
  await t.throwsAsync(coze.chat.create({ bot_id: 'payer' }), {
    instanceOf: BadRequestError,
    message: /additional_messages is needed/,
  });
  await t.throwsAsync(coze.chat.create({ bot_id: 'payer', auto_save_history: false, additional_messages }), {
    message: /auto_save_history may be false only/,
  });
  const parts = [{ role: RoleType.User, content: 'no list', content_type: 'object_string' as const }];
  await t.throwsAsync(coze.chat.create({ bot_id: 'payer', additional_messages: parts }), {
    message: /additional_messages\[0\]\.content must be/,
  });
  const stranger = clientOf({ url: gateway.url, token: 'wrong' });
  await t.throwsAsync(stranger.chat.create({ bot_id: 'payer', additional_messages }), {
    instanceOf: AuthenticationError,
  });
  const empty = await coze.conversations.create({});
  await t.throwsAsync(coze.conversations.messages.list(empty.id, { after_id: 'x' }), {
    message: /after_id is no message/,
  });
});

test('tenants, and users of one, see nothing of each other’s chats', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['Hello'])));
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  const other = clientOf({ url: gateway.url, token: (await gateway.makeTenant()).token });
  const place = [chat.conversation_id, chat.id] as const;
  const { apiKeys } = gateway.gateway.services;
  const tenantId = '00000000-0000-0000-0000-000000000001';
  const wanted = { tenantId, name: 'key', roles: ['user'], scopes: [], expiresAt: null, createdBy: null };
  const user = clientOf({ url: gateway.url, token: (await apiKeys.create(wanted)).key });
  for (const [client, name] of [
    [other, 'NotFoundError'],
    [user, 'PermissionDeniedError'],
  ] as const) {
    await t.throwsAsync(client.chat.retrieve(...place), { name });
    await t.throwsAsync(client.chat.cancel(...place), { name });
    await t.throwsAsync(client.chat.messages.list(...place), { name });
    await t.throwsAsync(client.conversations.retrieve(place[0]), { name });
    await t.throwsAsync(client.conversations.messages.list(place[0]), { name });
    const into = { bot_id: 'payer', conversation_id: place[0], additional_messages: say('hi') };
    await t.throwsAsync(client.chat.create(into), { name });
    await t.throwsAsync(
      all(
        client.chat.submitToolOutputs({
          conversation_id: place[0],
          chat_id: place[1],
          stream: true,
          tool_outputs: [{ tool_call_id: 'x', output: 'approve' }],
        }),
      ),
      { name },
    );
  }
});

test('a chat is polled and canceled on another replica, and fails with the one that carries it out', async (t) => {
  const fresh = await gatewayDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const provider = await startProvider(t, hang);
  const env = { ...fresh.environment, SVC_DRAIN_TIMEOUT: '1s' };
  const one = await startCoze(t, provider, { env });
  const two = await startCoze(t, provider, { env });
  const begin = () => one.coze.chat.create({ bot_id: 'payer', additional_messages: say('hi') });
  const first = await begin();
  const second = await begin();
  await until(() => provider.requests.length === 2);
  t.is((await two.coze.chat.retrieve(first.conversation_id, first.id)).status, ChatStatus.IN_PROGRESS);
  await two.coze.chat.cancel(first.conversation_id, first.id);
  await until(() => provider.requests.some(({ isAborted }) => isAborted));
  t.is((await settled(one.coze, first)).status, ChatStatus.CANCELED);
  await one.gateway.stop();
  const lost = await settled(two.coze, second);
  t.deepEqual([lost.status, lost.last_error?.msg], [ChatStatus.FAILED, 'The gateway was stopped']);
});

test('a chat whose process died without a word has failed', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['Hello'])));
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  const entities = gateway.gateway.services.database.forTenant('00000000-0000-0000-0000-000000000001');
  await entities.update(ChatEntity, { id: chat.id }, { status: 'in_progress' });
  const lost = await coze.chat.retrieve(chat.conversation_id, chat.id);
  t.is(lost.status, ChatStatus.FAILED);
  t.regex(lost.last_error!.msg, /has ended/);
});

test('a chat is there for 30 days, then the clean-up takes it and leaves what was said', async (t) => {
  const env = { SVC_RETENTION_INTERVAL: '100ms' };
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['Hello'])), { env });
  const chatOf = () => coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  const [old, newer] = [(await chatOf()).chat, (await chatOf()).chat];
  const entities = gateway.gateway.services.database.forTenant('00000000-0000-0000-0000-000000000001');
  await chatOf();
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  await entities.update(ChatEntity, { id: old.id }, { createdAt: daysAgo(31) });
  await entities.update(ChatEntity, { id: newer.id }, { createdAt: daysAgo(29) });
  const isThere = () => coze.chat.retrieve(old.conversation_id, old.id).catch((error: unknown) => error);
  await until(async () => (await isThere()) instanceof NotFoundError);
  t.is((await coze.chat.retrieve(newer.conversation_id, newer.id)).status, ChatStatus.COMPLETED);
  t.is((await coze.conversations.messages.list(old.conversation_id)).data.length, 2);
});

test('a tenant has as many chats in flight as it has sessions', async (t) => {
  const provider = await startProvider(t, hang);
  const { gateway } = await startCoze(t, provider, { env: { SVC_DRAIN_TIMEOUT: '1s' } });
  const tenant = await gateway.makeTenant();
  await gateway.gateway.services.tenants.update(tenant.id, { maxSessions: 1 });
  const coze = clientOf({ url: gateway.url, token: tenant.token });
  const create = () => coze.chat.create({ bot_id: 'payer', additional_messages: say('hi') });
  const first = await create();
  await t.throwsAsync(create, { instanceOf: RateLimitError });
  const begin = () => coze.conversations.create({ bot_id: 'payer', messages: say('hi') });
  await t.throwsAsync(begin, { instanceOf: RateLimitError });
  const listed = await gateway.request('/api/v2/conversations', { token: tenant.token });
  t.is(listed.body.total, 1, 'what is refused leaves no conversation behind');
  await coze.chat.cancel(first.conversation_id, first.id);
  await until(async () => (await create().catch(() => undefined)) !== undefined);
});

test('a deleted message is in no list any more', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['Hello'])));
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('hi') });
  const { data } = await coze.conversations.messages.list(chat.conversation_id);
  const where = `/api/v2/conversations/${chat.conversation_id}/messages/${data[0]!.id}`;
  t.is((await gateway.request(where, { method: 'DELETE' })).status, 204);
  t.deepEqual(await coze.chat.messages.list(chat.conversation_id, chat.id), []);
});

test('a page of messages has 16 MiB at most, from where its reader goes on', async (t) => {
  const { gateway, coze } = await startCoze(t, await startProvider(t, stream(['b']), stream(['d'])));
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: say('a') });
  const { conversation_id: id } = chat;
  await coze.chat.createAndPoll({ bot_id: 'payer', conversation_id: id, additional_messages: say('c') });
  const entities = gateway.gateway.services.database.forTenant(DEFAULT_TENANT_ID);
  await entities.update(SessionMessageEntity, { sessionId: id }, { bytes: 6 * 1024 * 1024 });
  const list = async (order: 'asc' | 'desc', from: object = {}) => {
    const page = await coze.conversations.messages.list(id, { order, ...from });
    const said = page.data.map(({ content }) => content).join('');
    return { said, more: page.has_more, first: page.first_id, last: page.last_id };
  };
  const [oldest, newest] = [await list('asc'), await list('desc')];
  t.like([oldest, newest], { 0: { said: 'ab', more: true }, 1: { said: 'dc', more: true } });
  t.like(await list('asc', { after_id: oldest.last }), { said: 'cd', more: false });
  t.like(await list('desc', { after_id: newest.last }), { said: 'ba', more: false });
  t.like(await list('asc', { before_id: (await list('asc', { after_id: oldest.last })).last }), {
    said: 'bc',
    more: true,
  });
});

test('chats are exported, erased, and go with their conversation', async (t) => {
  const gateway = await startRecords(t);
  const coze = clientOf(gateway);
  const chatOf = () => coze.chat.createAndPoll({ bot_id: 'helper', additional_messages: say('hi') });
  const tenantId = '00000000-0000-0000-0000-000000000001';
  const { chat } = await chatOf();
  const exported = (await gateway.exported(tenantId)).filter(({ section }) => section === 'chats');
  t.is(exported.length, 1);
  t.like(exported[0]?.record, { id: chat.id, status: 'completed', usage: chat.usage });
  t.truthy(exported[0]?.record.completed_at);
  const { status } = await gateway.request(`/api/v2/conversations/${chat.conversation_id}`, {
    method: 'DELETE',
  });
  t.is(status, 204);
  await t.throwsAsync(coze.chat.retrieve(chat.conversation_id, chat.id), { instanceOf: NotFoundError });
  await chatOf();
  t.is((await gateway.erase(tenantId))['chats' as never], 1);
});
