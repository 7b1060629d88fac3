import test from 'ava';
import { GatewayError } from '../../../../kernel/errors/gateway-error.ts';
import { systemClock } from '../../../../kernel/services/clock.ts';
import { createIds } from '../../../../kernel/services/ids.ts';
import {
  type ChatChunk,
  type ChatRequest,
  ModelErrors,
  type Models,
} from '../../../../plugins/agent-engine/contract.ts';
import { createChatCompletions } from '../../../../plugins/platform/services/chat-completions.ts';

const REQUEST: ChatRequest = { model: 'default', messages: [{ role: 'user', content: 'Hi' }], stream: true };
const CONTEXT = { signal: new AbortController().signal, requestId: 'request-1' };

function chunk(content: string, finish_reason: string | null = null): ChatChunk {
  const common = { id: 'theirs', object: 'chat.completion.chunk' as const, created: 1, model: 'x' };
  return { ...common, choices: [{ index: 0, delta: { content }, finish_reason }] };
}

/** A chat over one model that streams what `chunks` yields; notes what it was asked and whether the call was ended. */
function chatOver(chunks: () => AsyncGenerator<ChatChunk>) {
  const seen = { requests: [] as ChatRequest[], isEnded: false, pulled: 0, guarded: 0 };
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
  const info = { id: 'default', provider: 'test', model: 'x', owned_by: 'test', created: 0 };
  const model = { info, stream, complete: () => Promise.reject(new Error('not asked for')) };
  const models: Models = { list: () => [info], resolve: () => model };
  const chat = createChatCompletions({
    models,
    clock: systemClock,
    ids: createIds(systemClock),
    assertOutsideTransaction: () => {
      seen.guarded += 1;
    },
  });
  return { chat, seen };
}

async function* whole() {
  yield chunk('a');
  yield chunk('b', 'stop');
}

test('a stream is the chunks and [DONE]', async (t) => {
  const { chat, seen } = chatOver(whole);
  const sent: string[] = [];
  const answer = await chat.stream(REQUEST, CONTEXT);
  await answer({ data: (text) => void sent.push(text) });
  t.is(sent.length, 3);
  t.is(sent[2], '[DONE]');
  t.is(JSON.parse(sent[1]!).choices[0].finish_reason, 'stop');
  t.regex(JSON.parse(sent[0]!).id, /^chatcmpl-[0-9a-f-]{36}$/);
  t.is(seen.guarded, 1);
});

test('store is meant for the gateway and does not reach the provider; unknown members do', async (t) => {
  const { chat, seen } = chatOver(whole);
  await chat.stream({ ...REQUEST, store: false, top_k: 5 }, CONTEXT);
  t.false('store' in seen.requests[0]!);
  t.is(seen.requests[0]?.top_k, 5);
});

test('what fails before the first chunk fails the request, not the stream', async (t) => {
  // biome-ignore lint/correctness/useYield: it fails before
  const { chat } = chatOver(async function* () {
    throw ModelErrors.rateLimited();
  });
  const error = await t.throwsAsync(chat.stream(REQUEST, CONTEXT), { instanceOf: GatewayError });
  t.is(error.kind, 'rate-limited');
});

test('a stream that breaks throws, and sends neither [DONE] nor a finish_reason', async (t) => {
  const { chat } = chatOver(async function* () {
    yield chunk('a');
    throw ModelErrors.upstream();
  });
  const sent: string[] = [];
  const answer = await chat.stream(REQUEST, CONTEXT);
  const error = await t.throwsAsync(answer({ data: (text) => void sent.push(text) }), {
    instanceOf: GatewayError,
  });
  t.is(error.code, 'model.upstream');
  t.is(sent.length, 1);
  t.is(JSON.parse(sent[0]!).choices[0].finish_reason, null);
});

test('a reader who is gone ends the call at the provider', async (t) => {
  const { chat, seen } = chatOver(async function* () {
    for (;;) yield chunk('a');
  });
  const answer = await chat.stream(REQUEST, CONTEXT);
  await t.throwsAsync(answer({ data: () => Promise.reject(new Error('gone')) }), { message: 'gone' });
  t.true(seen.isEnded);
});

test('nothing more is read from the provider while the reader is slower', async (t) => {
  const { chat, seen } = chatOver(whole);
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent: string[] = [];
  const answer = await chat.stream(REQUEST, CONTEXT);
  const done = answer({
    data(text) {
      sent.push(text);
      return sent.length === 1 ? promise : undefined;
    },
  });
  await new Promise(setImmediate);
  t.is(seen.pulled, 1);
  resolve();
  await done;
  t.is(sent.length, 3);
});

test('messages that no provider takes are refused before anybody is asked', async (t) => {
  const { chat, seen } = chatOver(whole);
  const request: ChatRequest = { ...REQUEST, messages: [{ role: 'tool', content: 'x' }] };
  const error = await t.throwsAsync(chat.stream(request, CONTEXT), { instanceOf: GatewayError });
  t.is(error.extras.errors?.[0]?.pointer, '/body/messages/0/tool_call_id');
  t.deepEqual(seen.requests, []);
});
