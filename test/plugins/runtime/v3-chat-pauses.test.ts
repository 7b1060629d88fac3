import { type ChatStatus, type CreateChatData, RoleType } from '@coze/api';
import test, { type ExecutionContext } from 'ava';
import type { Leases } from '../../../foundation/leases/leases.ts';
import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { ChatEntity } from '../../../plugins/runtime/store/chats.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { failure, type ProviderScript, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { approvalAsked, hang, settled, startCoze, startProvider } from './coze-kit.ts';
import { eventsOf } from './runtime-gateway.ts';

const said = [{ role: RoleType.User, content: '6*7?', content_type: 'text' as const }];

/** A gateway with a chat that waits for an approval; the scripts are those of the answers that follow. */
async function start(t: ExecutionContext, scripts: ProviderScript[], env: Record<string, string> = {}) {
  const provider = await startProvider(t, approvalAsked, ...scripts);
  const { gateway, coze } = await startCoze(t, provider, { env });
  const { chat } = await coze.chat.createAndPoll({ bot_id: 'payer', additional_messages: said });
  const { conversation_id, id: chat_id } = chat;
  const place = { agent_id: 'payer', session_id: conversation_id };
  const where = `conversation_id=${conversation_id}&chat_id=${chat_id}`;
  const outputsFor = ({ required_action }: CreateChatData, output = 'approve') => {
    const calls = required_action?.submit_tool_outputs.tool_calls ?? [];
    return calls.map(({ id: tool_call_id }) => ({ tool_call_id, output }));
  };
  const submit = (tool_outputs: object[] = outputsFor(chat), more: object = {}) =>
    gateway.request(`/v3/chat/submit_tool_outputs?${where}`, {
      method: 'POST',
      body: { tool_outputs, ...more },
    });
  const retrieve = () => coze.chat.retrieve(conversation_id, chat_id);
  const v2 = (route: string, body: object) =>
    gateway.request(`/api/v2/chat/${route}`, { method: 'POST', body: { ...place, ...body } });
  /** Whether the conversation goes on: with a chat whose answer the next script is. */
  const next = async () => {
    const more = { bot_id: 'payer', conversation_id, additional_messages: said };
    return (await coze.chat.createAndPoll(more)).chat.status as string;
  };
  const open = async () => (await gateway.request('/api/v2/chat/interrupts')).body.total;
  const entities = gateway.gateway.services.database.forTenant(DEFAULT_TENANT_ID);
  /** Changes the row of the chat, as a process may have left it that died. */
  const leave = async (change: { status: 'in_progress' }, result: object = {}) => {
    const [row] = await entities.rows(ChatEntity, { id: chat_id }, { limit: 1 });
    const left = { ...change, result: JSON.stringify({ ...JSON.parse(row!.result), ...result }) };
    await entities.update(ChatEntity, { id: chat_id }, left);
  };
  const made = { gateway, coze, provider, chat, where, outputsFor, leave };
  return { ...made, submit, retrieve, v2, next, open };
}

eachGatewayDatabase(test, 'a chat that breaks after its approval waits again', async (t, { environment }) => {
  const answer = stream(['It is 42.']);
  const { coze, chat, outputsFor, submit, next } = await start(t, [failure(500), answer], environment);
  t.is((await submit()).body.data.status, 'in_progress');
  const broken = await settled(coze, chat);
  t.is(broken.status, 'requires_action' as ChatStatus);
  t.regex(broken.last_error!.msg, /^The agent failed/);
  t.deepEqual(outputsFor(broken), outputsFor(chat));
  t.true(broken.usage!.token_count > 0);
  const again = (await submit()).body.data;
  t.deepEqual([again.status, again.last_error], ['in_progress', undefined]);
  const completed = await settled(coze, chat);
  t.deepEqual([completed.status as string, completed.last_error], ['completed', undefined]);
  t.is((await submit()).status, 409);
  t.is(await next(), 'completed');
});

test('a chat in a conversation that waits has failed, by its caller’s mistake: the log has no word of it', async (t) => {
  const { gateway, coze, chat, submit, next } = await start(t, [stream(['It is 42.'])]);
  t.is(await next(), 'failed');
  t.deepEqual(
    gateway.logs().filter((line) => line.includes('a chat failed')),
    [],
  );
  t.is((await submit()).body.data.status, 'in_progress');
  t.is((await settled(coze, chat)).status as string, 'completed');
});

test('a stream that breaks after an approval ends with the pause, and its reason', async (t) => {
  const { submit, outputsFor, chat } = await start(t, [failure(500)]);
  const events = eventsOf((await submit(outputsFor(chat), { stream: true })).body);
  t.deepEqual(
    events.slice(-2).map(({ event }) => event),
    ['conversation.chat.requires_action', 'done'],
  );
  t.is(events.at(-2)?.data.last_error.code, 5000);
  t.deepEqual(outputsFor(events.at(-2)?.data), outputsFor(chat));
});

eachGatewayDatabase(test, 'a chat is canceled while it goes on', async (t, { environment }) => {
  const { provider, submit, coze, chat, next, open } = await start(t, [hang, stream(['Hello'])], environment);
  await submit();
  await until(() => provider.requests.length === 2);
  t.is((await coze.chat.cancel(chat.conversation_id, chat.id)).status as string, 'canceled');
  t.is(await open(), 0);
  await until(() => provider.requests[1]!.isAborted);
  t.is((await settled(coze, chat)).status as string, 'canceled');
  t.is((await submit()).status, 409);
  t.is(await next(), 'completed');
});

test('a client that leaves the stream of its outputs may send them again', async (t) => {
  const { gateway, provider, where, outputsFor, chat, submit, coze, next } = await start(t, [
    hang,
    stream(['It is 42.']),
  ]);
  const left = new AbortController();
  const response = await fetch(`${gateway.url}/v3/chat/submit_tool_outputs?${where}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, tool_outputs: outputsFor(chat) }),
    signal: left.signal,
  });
  await until(() => provider.requests.length === 2);
  left.abort();
  await t.throwsAsync(response.text());
  const waiting = await settled(coze, chat);
  t.is(waiting.status as string, 'requires_action');
  t.regex(waiting.last_error!.msg, /client/);
  await submit();
  t.is((await settled(coze, chat)).status as string, 'completed');
  t.is(await next(), 'completed');
});

test('a chat whose process died while it was continued waits again, or is canceled', async (t) => {
  const { leave, retrieve, submit, coze, chat, open } = await start(t, [stream(['It is 42.'])]);
  await leave({ status: 'in_progress' });
  const lost = await retrieve();
  t.is(lost.status as string, 'requires_action');
  t.regex(lost.last_error!.msg, /has ended/);
  await submit();
  t.is((await settled(coze, chat)).status as string, 'completed');

  const dead = await start(t, [stream(['Hello'])]);
  await dead.leave({ status: 'in_progress' });
  t.is((await dead.coze.chat.cancel(dead.chat.conversation_id, dead.chat.id)).status as string, 'canceled');
  t.deepEqual([await dead.open(), await dead.next()], [0, 'completed']);
  t.is(await open(), 0);
});

test('a chat whose process died after its turn was stored ends as the turn did', async (t) => {
  const { leave, retrieve, coze, chat } = await start(t, []);
  await leave({ status: 'in_progress' }, { end: 'requires_action' });
  const waiting = await retrieve();
  t.deepEqual([waiting.status as string, waiting.last_error], ['requires_action', undefined]);
  await leave({ status: 'in_progress' }, { end: 'completed' });
  await t.throwsAsync(coze.chat.cancel(chat.conversation_id, chat.id), { message: /it is completed/ });
});

eachGatewayDatabase(
  test,
  'a pause that is answered without the chat completes it',
  async (t, { environment }) => {
    const { v2, retrieve, submit, next } = await start(t, [stream(['It is 42.'])], environment);
    t.is((await v2('resume', { input: { decision: 'approve' } })).status, 200);
    const chat = await retrieve();
    t.deepEqual([chat.status as string, chat.required_action], ['completed', undefined]);
    t.is((await submit()).status, 409);
    t.is(await next(), 'completed');
  },
);

test('a chat whose pause is answered elsewhere waits for the pause that follows', async (t) => {
  const scripts = [approvalAsked, stream(['It is 42.'])];
  const { v2, retrieve, submit, outputsFor, coze, chat, next } = await start(t, [
    ...scripts,
    stream(['Hello']),
  ]);
  t.is((await v2('resume', { input: { decision: 'approve' } })).status, 200);
  const waiting = await retrieve();
  t.is(waiting.status as string, 'requires_action');
  t.notDeepEqual(outputsFor(waiting), outputsFor(chat));
  t.is((await submit(outputsFor(waiting))).status, 200);
  t.is((await settled(coze, chat)).status as string, 'completed');
  t.is(await next(), 'completed');
});

test('a pause that is answered without the chat completes it also where its process died before', async (t) => {
  const left = [{}, { end: 'requires_action' }];
  for (const result of left) {
    const { leave, v2, retrieve } = await start(t, [stream(['It is 42.'])]);
    await leave({ status: 'in_progress' }, result);
    t.is((await v2('resume', { input: { decision: 'approve' } })).status, 200);
    const { status, last_error } = await retrieve();
    t.deepEqual([status as string, last_error], ['completed', undefined]);
  }
});

test('the answer to a later pause does not complete a chat whose own was discarded', async (t) => {
  const { v2, retrieve } = await start(t, [approvalAsked, stream(['It is 42.'])]);
  await v2('abort', {});
  await v2('stream', { message: '6*7?' });
  t.is((await v2('resume', { input: { decision: 'approve' } })).status, 200);
  t.is((await retrieve()).status as string, 'canceled');
});

test('a pause that is discarded without the chat cancels it, and a later one is not its own', async (t) => {
  const { v2, retrieve, submit, open, outputsFor, chat } = await start(t, [approvalAsked]);
  t.is((await v2('abort', {})).status, 200);
  t.is((await submit()).status, 409);
  t.is((await v2('stream', { message: '6*7?' })).status, 200);
  t.is(await open(), 1);
  const canceled = await retrieve();
  t.deepEqual([canceled.status as string, canceled.required_action], ['canceled', undefined]);
  t.is((await submit(outputsFor(chat))).status, 409);
  t.is(await open(), 1);
});

test('a chat that was never read again leaves the pause of a later turn alone', async (t) => {
  const { v2, coze, chat, open } = await start(t, [approvalAsked]);
  await v2('abort', {});
  await v2('stream', { message: '6*7?' });
  t.is((await coze.chat.cancel(chat.conversation_id, chat.id)).status as string, 'canceled');
  t.is(await open(), 1);
});

test('a message that is deleted while outputs come is in no list of the chat afterwards', async (t) => {
  const { gateway, coze, chat, submit, outputsFor } = await start(t, [approvalAsked, stream(['It is 42.'])]);
  const { conversation_id, id } = chat;
  const list = async () => (await coze.chat.messages.list(conversation_id, id)).map(({ type }) => type);
  await submit();
  const waiting = await settled(coze, chat);
  t.deepEqual(await list(), ['function_call', 'tool_response'] as unknown[]);

  const [newest] = (await coze.conversations.messages.list(conversation_id)).data;
  const path = `/api/v2/conversations/${conversation_id}/messages/${newest!.id}`;
  const { leases } = gateway.gateway.services as { leases: Pick<Leases, 'acquire'> };
  const { acquire } = leases;
  leases.acquire = async (key, options) => {
    // The chat was read, and its turn does not hold the session yet.
    if (options?.name === id) t.is((await gateway.request(path, { method: 'DELETE' })).status, 204);
    return acquire(key, options);
  };
  await submit(outputsFor(waiting));
  t.is((await settled(coze, chat)).status as string, 'completed');
  t.deepEqual(await list(), ['function_call', 'tool_response', 'answer'] as unknown[]);
});

test('an output that fits no pause is named by its place in the body', async (t) => {
  const { submit, outputsFor, chat, retrieve } = await start(t, []);
  const refused = await submit(outputsFor(chat, 'perhaps'));
  t.is(refused.status, 400);
  t.regex(refused.body.msg, /tool_outputs\[0\]\.output must be "approve"/);
  t.is((await retrieve()).status as string, 'requires_action');
});
