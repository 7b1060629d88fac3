import test from 'ava';
import { type ChatMessage, keptThoughts } from '../../../../../plugins/agent-engine/contract.ts';
import { withThoughts } from '../../../../../plugins/agent-engine/services/models/thoughts.ts';
import { failure, type ProviderScript, plain, startFakeProvider } from '../../../../support/fake-provider.ts';
import { ask, clientFor, collect, context, failureOf } from './calls.ts';

const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
const answer = (more: Partial<ChatMessage> = {}): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [call],
  ...more,
});
const OPENAI = { provider: 'openai' };
const result: ChatMessage = { role: 'tool', tool_call_id: 'c', content: 'done' };
const user: ChatMessage = { role: 'user', content: 'Hi' };
const signed = { text: 'hm', provider_metadata: { anthropic: { signature: 's' } } };

test('thoughts leave for servers that want them alone, and what others signed stays as it is', (t) => {
  const messages = [
    user,
    answer({ reasoning_details: [signed, ...keptThoughts('I think', OPENAI)] }),
    result,
  ];
  t.deepEqual(withThoughts(messages, false), [user, answer({ reasoning_details: [signed] }), result]);
  t.deepEqual(withThoughts(messages, true), [
    user,
    answer({ reasoning_content: 'I think', reasoning_details: [signed] }),
    result,
  ]);
  const own = [answer({ reasoning_details: keptThoughts('I think', OPENAI) })];
  t.deepEqual(withThoughts(own, false), [answer()]);
});

test('an answer without thoughts brings none, which is what these servers want of it, and one that has the member keeps it', (t) => {
  t.deepEqual(withThoughts([user, answer()], true), [user, answer({ reasoning_content: '' })]);
  const given = answer({ reasoning_content: 'mine' });
  t.deepEqual(withThoughts([given], true), [given]);
  t.deepEqual(withThoughts([given], false), [given]);
  const odd = answer({ reasoning_details: 'no list' as never });
  t.deepEqual(withThoughts([odd], false), [odd]);
  t.deepEqual(withThoughts([answer({ reasoning_details: [null, 7] })], false), [
    answer({ reasoning_details: [null, 7] }),
  ]);
});

test('of long thoughts the last are kept', (t) => {
  t.deepEqual(keptThoughts('', OPENAI), []);
  const [kept] = keptThoughts(`${'a'.repeat(20_000)}end`, OPENAI) as [{ text: string }];
  t.is(kept.text.length, 16_384);
  t.true(kept.text.endsWith('end'));
});

/** As DeepSeek and Kimi: an answer without its thoughts is refused. */
const thinking: ProviderScript = (reply) => {
  const answers = reply.request.body.messages.filter(({ role }: ChatMessage) => role === 'assistant');
  if (answers.every((message: ChatMessage) => typeof message.reasoning_content === 'string'))
    return plain('Done')(reply);
  const message =
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1';
  return failure(400, {}, { message, type: 'invalid_request_error' })(reply);
};

test('a server that wants thoughts is asked once more with them, and from then on at once', async (t) => {
  await using provider = await startFakeProvider(thinking);
  await using client = clientFor(provider.url);
  const messages = [user, answer({ reasoning_details: keptThoughts('I think', OPENAI) }), result];
  const request = ask('', { messages });
  t.is((await client.complete(request, context())).choices[0]?.message.content, 'Done');
  t.deepEqual(
    provider.requests.map(({ body }) => body.messages[1].reasoning_content),
    [undefined, 'I think'],
  );
  await client.complete(request, context());
  t.is(provider.requests.length, 3);
});

test('calls at the same time each learn it for themselves', async (t) => {
  await using provider = await startFakeProvider(thinking);
  await using client = clientFor(provider.url);
  const request = ask('', { messages: [user, answer(), result] });
  const asked = Array.from({ length: 3 }, () => client.complete(request, context()));
  for (const { choices } of await Promise.all(asked)) t.is(choices[0]?.message.content, 'Done');
});

test('any other refusal is the caller’s, and so is one of thoughts that were sent', async (t) => {
  const unsupported = {
    message: "property 'reasoning_content' is unsupported",
    type: 'invalid_request_error',
  };
  await using provider = await startFakeProvider(failure(400), failure(400, {}, unsupported));
  await using client = clientFor(provider.url);
  const without = ask('', { messages: [user, answer(), result] });
  t.is((await failureOf(t, client.complete(without, context()))).code, 'model.rejected');
  const brings = ask('', { messages: [user, answer({ reasoning_content: 'mine' }), result] });
  t.is((await failureOf(t, collect(client.stream(brings, context())))).code, 'model.rejected');
  t.is(provider.requests.length, 2);
  t.is(provider.requests[1]?.body.messages[1].reasoning_content, 'mine');
});
