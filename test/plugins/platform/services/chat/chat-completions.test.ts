import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { GatewayError } from '../../../../../foundation/base/gateway-error.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatMessage,
  type ChatRequest,
  ModelErrors,
  type Models,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createConversations } from '../../../../../plugins/agent-engine/services/turns/conversations.ts';
import { createChatCompletions } from '../../../../../plugins/platform/services/chat/chat-completions.ts';
import { SessionErrors } from '../../../../../plugins/records/contract.ts';
import {
  chatCall,
  collect,
  conversationParts,
  fakeTurns,
  INFO,
  testGuard,
  testMetering,
} from './chat-fakes.ts';

const REQUEST: ChatRequest = { model: 'default', messages: [{ role: 'user', content: 'Hi' }], stream: true };
const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

function chunk(content: string, finish_reason: string | null = null, usage?: typeof USAGE): ChatChunk {
  const common = { id: 'theirs', object: 'chat.completion.chunk' as const, created: 1, model: 'x' };
  return { ...common, choices: [{ index: 0, delta: { content }, finish_reason }], ...(usage && { usage }) };
}

interface Setting {
  readonly chunks?: () => AsyncGenerator<ChatChunk>;
  readonly answer?: string;
  /** Members of the answer that OpenAI's format does not have. */
  readonly more?: object;
  readonly history?: readonly ChatMessage[];
  readonly preamble?: string;
  readonly secret?: string;
}

/** A chat over one model; notes what it was asked, what was kept, and whether the provider's call was ended. */
function chatOver({ chunks = whole, answer = 'Hello', more, history, preamble, secret }: Setting = {}) {
  const seen = { requests: [] as ChatRequest[], isEnded: false, pulled: 0 };
  async function* stream(request: ChatRequest) {
    seen.requests.push(request);
    try {
      for await (const each of chunks()) {
        seen.pulled += 1;
        yield each;
      }
    } finally {
      seen.isEnded = true;
    }
  }
  async function complete(request: ChatRequest): Promise<ChatCompletion> {
    seen.requests.push(request);
    const message = { role: 'assistant', content: answer, ...more };
    return {
      id: 'theirs',
      object: 'chat.completion',
      created: 1,
      model: 'x',
      usage: USAGE,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    };
  }
  const models: Models = { list: () => [INFO], resolve: () => ({ info: INFO, stream, complete }) };
  const { turns, state } = fakeTurns(history);
  const { parts, recorded } = conversationParts(turns, preamble, secret);
  const chat = createChatCompletions({
    models,
    conversations: createConversations(parts),
    guard: testGuard,
    metering: testMetering(),
    clock: systemClock,
    ids: createIds(systemClock),
  });
  return { chat, seen, state, recorded };
}

async function* whole() {
  yield chunk('a');
  yield chunk('b', 'stop', USAGE);
}

test('an answer is kept with what was said, its usage and its session, before it is given', async (t) => {
  const { chat, state } = chatOver();
  const { sessionId, answer } = await chat.complete(REQUEST, chatCall());
  t.is(sessionId, 'new-session');
  t.deepEqual(answer.usage, USAGE);
  t.is(state.committed.length, 1);
  t.like(state.committed[0], { model: 'default', source: 'chat' });
  t.deepEqual(state.committed[0]!.messages, [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ]);
  t.is(state.committed[0]!.uses[0]!.inputTokens, 7);
  t.is(state.open, 0);
});

test('what a provider adds to its answer is given, and not kept', async (t) => {
  const { chat, state } = chatOver({ more: { reasoning_content: 'hm', annotations: [] } });
  const { answer } = await chat.complete(REQUEST, chatCall());
  t.like(answer.choices[0]!.message, { content: 'Hello', reasoning_content: 'hm', annotations: [] });
  t.deepEqual(state.committed[0]!.messages.at(-1), { role: 'assistant', content: 'Hello' });
});

test('a stream is the chunks and [DONE], and is kept before its end is told', async (t) => {
  const { chat, state } = chatOver();
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  const { sink, sent } = collect();
  const kept: number[] = [];
  await send({
    ...sink,
    data: (text) => {
      kept.push(state.committed.length);
      return sink.data(text);
    },
  });
  const chunks = sent.slice(0, -1).map((text) => JSON.parse(text).choices[0]);
  t.deepEqual(
    chunks.map(({ delta, finish_reason }) => [delta.content, finish_reason]),
    [
      ['a', null],
      ['b', null],
      [undefined, 'stop'],
    ],
  );
  t.is(sent.at(-1), '[DONE]');
  t.deepEqual(kept, [0, 0, 1, 1]);
  t.deepEqual(state.committed[0]!.messages.at(-1), { role: 'assistant', content: 'ab' });
  t.is(state.open, 0);
});

test('with store: false nothing is kept but what it cost', async (t) => {
  const { chat, state, recorded, seen } = chatOver();
  const { sessionId } = await chat.complete({ ...REQUEST, store: false }, chatCall());
  t.is(sessionId, undefined);
  t.is(state.begun, 0);
  t.is(recorded.length, 1);
  t.false('store' in seen.requests[0]!);
});

test('the model sees the preamble, the history and the request, in this order', async (t) => {
  const history = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ];
  const { chat, seen } = chatOver({ history, preamble: 'Soul.' });
  await chat.complete(REQUEST, chatCall({ sessionId: 's' }));
  t.deepEqual(
    seen.requests[0]!.messages.map(({ content }) => content),
    ['Soul.', 'one', 'two', 'Hi'],
  );
});

test('credentials in an answer do not leave and are not kept', async (t) => {
  const { chat, state } = chatOver({ answer: 'It is SECRET.' });
  const { answer } = await chat.complete(REQUEST, chatCall());
  t.is(answer.choices[0]!.message.content, 'It is [R].');
  t.is(state.committed[0]!.messages.at(-1)!.content, 'It is [R].');
});

test('an attack is refused before a session is taken or a model is asked', async (t) => {
  const { chat, state, seen } = chatOver();
  const request = { ...REQUEST, messages: [{ role: 'user', content: 'ATTACK' }] };
  await t.throwsAsync(chat.complete(request, chatCall()), { code: 'guard.input-blocked' });
  t.is(state.begun, 0);
  t.is(seen.requests.length, 0);
});

test('what was checked in an earlier turn is not checked again', async (t) => {
  const { chat } = chatOver();
  const messages = [
    { role: 'user', content: 'ATTACK' },
    { role: 'assistant', content: 'no' },
    { role: 'user', content: 'sorry' },
  ];
  await t.notThrowsAsync(chat.complete({ ...REQUEST, messages }, chatCall()));
});

test('an unsafe answer is refused and not kept', async (t) => {
  const { chat, state } = chatOver({ answer: 'UNSAFE' });
  await t.throwsAsync(chat.complete(REQUEST, chatCall()), { code: 'guard.output-blocked' });
  t.is(state.committed.length, 0);
  t.is(state.open, 0);
});

test('an answer that gives the secret part of the prompt away is refused', async (t) => {
  const { chat } = chatOver({ answer: 'My rules: be kind', preamble: 'be kind', secret: 'be kind' });
  await t.throwsAsync(chat.complete(REQUEST, chatCall()), { code: 'guard.output-blocked' });
});

test('usage that the provider does not count is estimated, and says so', async (t) => {
  const { chat } = chatOver({
    chunks: async function* () {
      yield chunk('a', 'stop');
    },
  });
  const { sink, sent } = collect();
  const request = { ...REQUEST, stream_options: { include_usage: true } };
  await (await chat.stream(request, chatCall())).answer(sink);
  t.true(JSON.parse(sent.at(-2)!).usage.estimated);
});

test('a stream that fails before its first chunk fails with the error itself, and frees its session', async (t) => {
  const { chat, state } = chatOver({
    // biome-ignore lint/correctness/useYield: it fails first
    chunks: async function* () {
      throw ModelErrors.rateLimited();
    },
  });
  await t.throwsAsync(chat.stream(REQUEST, chatCall()), { code: 'model.rate-limited' });
  t.is(state.open, 0);
});

test('a stream that breaks later tells so, has no end, and is not kept', async (t) => {
  const { chat, state, seen } = chatOver({
    chunks: async function* () {
      yield chunk('a');
      throw ModelErrors.upstream();
    },
  });
  const { sink, sent } = collect();
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  await t.throwsAsync(async () => send(sink), { code: 'model.upstream' });
  t.is(sent.length, 1);
  t.is(JSON.parse(sent[0]!).choices[0].finish_reason, null);
  t.is(state.committed.length, 0);
  t.is(state.open, 0);
  t.true(seen.isEnded);
});

test('a turn that cannot be kept has no end', async (t) => {
  const { chat, state } = chatOver();
  state.committed.push = () => {
    throw SessionErrors.conflict();
  };
  const { sink, sent } = collect();
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  await t.throwsAsync(async () => send(sink), { code: 'session.conflict' });
  t.true(sent.every((text) => !text.includes('"stop"') && text !== '[DONE]'));
});

test('the reason why a conversation ended is what is told', async (t) => {
  const { chat, state } = chatOver({
    chunks: async function* () {
      yield chunk('a');
      state.abort.abort(SessionErrors.aborted());
      throw ModelErrors.aborted();
    },
  });
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  await t.throwsAsync(async () => send(collect().sink), { code: 'chat.aborted' });
});

test('a reader that fails ends the call of the provider', async (t) => {
  const { chat, seen, state } = chatOver();
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  const gone = new Error('gone');
  await t.throwsAsync(async () => send({ ...collect().sink, data: () => Promise.reject(gone) }), {
    is: gone,
  });
  t.true(seen.isEnded);
  t.is(state.committed.length, 0);
});

test('no more is read of the provider than the reader takes', async (t) => {
  const { chat, seen } = chatOver({
    chunks: async function* () {
      for (let index = 0; index < 100; index += 1) yield chunk(`${index}`);
      yield chunk('', 'stop');
    },
  });
  const { answer: send } = await chat.stream(REQUEST, chatCall());
  const read = Promise.withResolvers<void>();
  const sending = send({ ...collect().sink, data: () => read.promise });
  await new Promise(setImmediate);
  t.true(seen.pulled <= 2);
  read.resolve();
  await sending;
});

test('messages that make no conversation are told with their places', async (t) => {
  const { chat } = chatOver();
  const request = { ...REQUEST, messages: [{ role: 'user' }] };
  const error = await t.throwsAsync(chat.complete(request, chatCall()), { instanceOf: GatewayError });
  t.deepEqual(
    error?.extras.errors?.map(({ pointer }) => pointer),
    ['/body/messages/0/content'],
  );
});
