import { type LanguageModelV4, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import test from 'ava';
import {
  createWarningLog,
  toModelError,
  toStreamError,
} from '../../../../../../plugins/agent-engine/services/models/ai-sdk/ai-sdk-client.ts';
import { createRedact } from '../../../../../../plugins/agent-engine/services/models/provider-errors.ts';
import { anthropic, anthropicEvents, anthropicFailure } from '../../../../../support/fake-anthropic.ts';
import { googleFailure } from '../../../../../support/fake-google.ts';
import {
  cut,
  json,
  type rawStream,
  silence,
  startFakeProvider,
} from '../../../../../support/fake-provider.ts';
import { until } from '../../../../../support/until.ts';
import { API_KEY, ask, collect, context, failureOf, textOf } from '../calls.ts';
import { clientOf } from './clients.ts';

const NO_RETRY = { retry: { retries: 0 } };

for (const [status, code] of [
  [400, 'model.rejected'],
  [401, 'model.upstream'],
  [403, 'model.upstream'],
  [404, 'model.unknown-to-provider'],
  [429, 'model.rate-limited'],
  [500, 'model.upstream'],
  [529, 'model.upstream'],
] as const) {
  test(`status ${status} of a provider is ${code}, whole and streamed, and gives no key away`, async (t) => {
    const said = `no, ${API_KEY}`;
    await using claude = await startFakeProvider(anthropicFailure(status, said, { 'retry-after': '3' }));
    await using gemini = await startFakeProvider(googleFailure(status, said, { 'retry-after': '3' }));
    await using anthropicClient = await clientOf('anthropic', claude.url, NO_RETRY);
    await using googleClient = await clientOf('google', gemini.url, NO_RETRY);
    for (const client of [anthropicClient, googleClient]) {
      for (const call of [
        () => client.complete(ask(), context()),
        () => collect(client.stream(ask(), context())),
      ]) {
        const error = await failureOf(t, call());
        t.is(error.code, code);
        t.false(`${error.message} ${error.cause}`.includes(API_KEY));
        if (status === 429) t.is(error.extras.headers?.['retry-after'], '3');
        if (status === 400) t.regex(error.message, /: no, \[redacted\]$/);
      }
    }
  });
}

test('a call is tried again after a failure that may pass, and after a cut connection', async (t) => {
  await using provider = await startFakeProvider(anthropicFailure(529), cut(), anthropic());
  await using client = await clientOf('anthropic', provider.url);
  const chunks = await collect(client.stream(ask(), context()));
  t.is(textOf(chunks), 'Hello from Claude.');
  t.is(provider.requests.length, 3);
});

test('hanging up cancels the call at the provider, before and while it answers', async (t) => {
  const events = anthropicEvents();
  await using provider = await startFakeProvider(silence(), silence(), async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events.slice(0, 5)) await write(event);
  });
  await using client = await clientOf('anthropic', provider.url);
  for (const call of [
    (signal: AbortSignal) => client.complete(ask(), context(signal)),
    (signal: AbortSignal) => collect(client.stream(ask(), context(signal))),
    (signal: AbortSignal) => collect(client.stream(ask(), context(signal))),
  ]) {
    const known = provider.requests.length;
    const caller = new AbortController();
    const failed = failureOf(t, call(caller.signal));
    await until(() => provider.requests.length > known);
    caller.abort();
    t.is((await failed).code, 'model.aborted');
    await until(() => provider.requests.at(-1)!.isAborted, 5_000);
  }
});

test('leaving a stream cancels it at the provider', async (t) => {
  const events = anthropicEvents();
  await using provider = await startFakeProvider(async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events.slice(0, 5)) await write(event);
  });
  await using client = await clientOf('anthropic', provider.url);
  for await (const chunk of client.stream(ask(), context())) {
    if (chunk.choices[0]?.delta.content) break;
  }
  await until(() => provider.requests[0]!.isAborted, 5_000);
  t.pass();
});

test('the deadlines of a call hold: first byte, silence, and the whole call', async (t) => {
  const events = anthropicEvents();
  const half = async ({ response, write }: Parameters<ReturnType<typeof rawStream>>[0]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events.slice(0, 5)) await write(event);
  };
  // One for each call: a call may be over before its request has arrived.
  await using silent = await startFakeProvider(silence());
  await using halting = await startFakeProvider(half);
  await using slow = await clientOf('anthropic', silent.url, { timeouts: { firstByteMs: 50 } });
  const early = await failureOf(t, collect(slow.stream(ask(), context())));
  t.is(early.code, 'model.timeout');
  t.regex(early.message, /did not begin to answer within 0.05 s/);
  await using mute = await clientOf('anthropic', halting.url, { timeouts: { idleMs: 60 } });
  const idle = await failureOf(t, collect(mute.stream(ask(), context())));
  t.regex(idle.message, /sent nothing for 0.06 s/);
  await using short = await clientOf('anthropic', silent.url, { timeouts: { totalMs: 70 } });
  t.regex((await failureOf(t, short.complete(ask(), context()))).message, /longer than 0.07 s/);
});

test('an answer that is too large, or is not what it should be, is a failure', async (t) => {
  const text = 'x'.repeat(5000);
  await using provider = await startFakeProvider(
    anthropic({ content: [{ type: 'text', text }] }),
    anthropic({ content: [{ type: 'text', text }] }),
    json(200, { hello: 'world' }),
    json(200, 'hello'),
  );
  await using client = await clientOf('anthropic', provider.url, { answerBytes: 2000 });
  t.regex((await failureOf(t, client.complete(ask(), context()))).message, /too large/);
  t.regex((await failureOf(t, collect(client.stream(ask(), context())))).message, /too large/);
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.upstream');
  t.is((await failureOf(t, collect(client.stream(ask(), context())))).code, 'model.upstream');
});

test('a redirect is not followed: the key is for this server alone', async (t) => {
  await using other = await startFakeProvider(anthropic());
  await using provider = await startFakeProvider(json(307, {}, { location: `${other.url}/messages` }));
  await using client = await clientOf('anthropic', provider.url);
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.upstream');
  t.is(other.requests.length, 0);
});

test('nothing is sent for a stream that nobody reads, or where no call may be made', async (t) => {
  await using provider = await startFakeProvider(anthropic());
  await using client = await clientOf('anthropic', provider.url);
  client.stream(ask(), context());
  await using forbidden = await clientOf('anthropic', provider.url, {
    beforeCall: () => {
      throw new Error('inside a transaction');
    },
  });
  await t.throwsAsync(forbidden.complete(ask(), context()), { message: 'inside a transaction' });
  await t.throwsAsync(collect(forbidden.stream(ask(), context())), { message: 'inside a transaction' });
  t.is((await failureOf(t, client.complete(ask(), context(AbortSignal.abort())))).code, 'model.aborted');
  t.is(provider.requests.length, 0);
});

test('a slow reader slows the provider down', async (t) => {
  const [start, ping, open] = anthropicEvents();
  const delta = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'x'.repeat(4000) },
  };
  await using provider = await startFakeProvider(async ({ response, write, signal }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [start!, ping!, open!]) await write(event);
    while (!signal.aborted) await write(`event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`);
  });
  await using client = await clientOf('anthropic', provider.url);
  const chunks = client.stream(ask(), context())[Symbol.asyncIterator]();
  await chunks.next();
  await until(() => provider.requests[0]!.isBlocked);
  t.true(provider.requests[0]!.bytesWritten < 20 << 20);
  await chunks.return?.();
});

/** A package that does everything in its own way. */
function modelThat(doGenerate: LanguageModelV4['doGenerate']): LanguageModelV4 {
  const doStream = async () => {
    throw new Error('streams nothing');
  };
  return {
    specificationVersion: 'v4',
    provider: 'own',
    modelId: 'own-1',
    supportedUrls: {},
    doGenerate,
    doStream,
  };
}

test('a package that makes something of its own of an abort, or nothing, is left with the right error', async (t) => {
  const makesItsOwn = modelThat(
    ({ abortSignal }) =>
      new Promise((_, reject) => {
        abortSignal?.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
      }),
  );
  const makesNothing = modelThat(() => new Promise(() => {}));
  for (const model of [makesItsOwn, makesNothing]) {
    await using client = await clientOf('anthropic', 'http://127.0.0.1:1', { createModel: () => model });
    const caller = new AbortController();
    const failed = failureOf(t, client.complete(ask(), context(caller.signal)));
    setImmediate(() => caller.abort());
    t.is((await failed).code, 'model.aborted');
  }
});

test('what a package throws is a failure of the provider, and its words are for the log', async (t) => {
  const model = modelThat(async () => {
    throw new Error(`cannot do that with ${API_KEY}`);
  });
  await using client = await clientOf('anthropic', 'http://127.0.0.1:1', { createModel: () => model });
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.upstream');
  t.is(error.message, 'The model provider failed');
  t.regex(String(error.cause), /cannot do that with \[redacted\]/);
  t.is((await failureOf(t, collect(client.stream(ask(), context())))).code, 'model.upstream');
});

test('a response that a package leaves unread does not keep its connection', async (t) => {
  await using provider = await startFakeProvider(({ response }) => {
    response.writeHead(200);
    response.write('the beginning');
  });
  await using client = await clientOf('anthropic', provider.url, {
    createModel: (fetch) =>
      modelThat(async ({ abortSignal }) => {
        await fetch(provider.url, { body: '{}', signal: abortSignal ?? null });
        throw new Error('not what I wanted');
      }),
  });
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.upstream');
  await until(() => provider.requests[0]!.isAborted, 5_000);
});

test('what a package throws and warns of is redacted like an answer', (t) => {
  const key = `ghp_${'a1B2'.repeat(9)}`;
  const redact = createRedact();
  const refused = toModelError(new UnsupportedFunctionalityError({ functionality: key }), redact, 0);
  t.is(refused.code, 'model.rejected');
  for (const error of [
    refused,
    toModelError(new Error(key), redact, 0),
    toStreamError({ message: key }, redact, 0),
  ])
    t.false(`${error.message} ${error.cause}`.includes(key.slice(0, 12)));
  const told: unknown[] = [];
  const warn = createWarningLog({ warn: (fields: unknown) => told.push(fields) } as never, 'x/y', redact);
  warn([
    { type: 'other', message: key },
    { type: 'unsupported', feature: key, details: key },
    { type: 'compatibility', feature: key },
  ]);
  t.is(told.length, 3);
  t.false(JSON.stringify(told).includes(key.slice(0, 12)));
});
