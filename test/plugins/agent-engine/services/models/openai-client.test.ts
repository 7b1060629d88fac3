import test from 'ava';
import {
  endlessStream,
  failure,
  plain,
  silence,
  startFakeProvider,
  stream,
  streamEvents,
} from '../../../../support/fake-provider.ts';
import { settled, until } from '../../../../support/until.ts';
import { API_KEY, ask, clientFor, collect, context, failureOf, textOf } from './calls.ts';

test('a plain answer is returned as the provider gave it', async (t) => {
  await using provider = await startFakeProvider(plain('Hello', { system_fingerprint: 'fp_1' }));
  await using client = clientFor(provider.url);
  const completion = await client.complete(ask(), context());
  t.is(completion.choices[0]?.message.content, 'Hello');
  t.is(completion.choices[0]?.finish_reason, 'stop');
  t.is(completion.usage?.total_tokens, 12);
  t.is(completion.system_fingerprint, 'fp_1');
});

test('a stream gives every chunk, the usage chunk last', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b', 'ü€😀']));
  await using client = clientFor(provider.url);
  const chunks = await collect(client.stream(ask(), context()));
  t.is(textOf(chunks), 'abü€😀');
  t.is(chunks.at(-2)?.choices[0]?.finish_reason, 'stop');
  t.deepEqual(chunks.at(-1)?.choices, []);
  t.is(chunks.at(-1)?.usage?.total_tokens, 12);
});

test('a server that answers whole where a stream was asked for has a stream of one chunk', async (t) => {
  const call = { id: 'c1', type: 'function', function: { name: 'pay', arguments: '{}' } };
  const message = { role: 'assistant', content: 'Wait', reasoning_content: 'Hm', tool_calls: [call] };
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
  await using provider = await startFakeProvider(plain('', { choices }), plain('Hello'));
  await using client = clientFor(provider.url);
  const [chunk, ...more] = await collect(client.stream(ask(), context()));
  t.deepEqual(more, []);
  t.is(chunk?.object, 'chat.completion.chunk');
  t.is(chunk?.usage?.total_tokens, 12);
  const delta = { ...message, tool_calls: [{ index: 0, ...call }] };
  t.deepEqual(chunk?.choices as unknown, [{ index: 0, delta, finish_reason: 'tool_calls' }]);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'Hello');
});

test('a stream that its server calls JSON is a stream', async (t) => {
  await using provider = await startFakeProvider(async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const event of streamEvents(['a', 'b'])) await write(event);
    response.end();
  });
  await using client = clientFor(provider.url);
  const chunks = await collect(client.stream(ask(), context()));
  t.is(textOf(chunks), 'ab');
  t.true(chunks.length > 3);
});

test('members that the gateway does not know reach the provider', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  await client.complete(
    ask('Hi', { temperature: 0.5, top_k: 3, stream_options: { include_usage: true } }),
    context(),
  );
  t.deepEqual(provider.requests[0]?.body, {
    model: 'fake-model',
    messages: [{ role: 'user', content: 'Hi' }],
    temperature: 0.5,
    top_k: 3,
    stream: false,
  });
});

test('a stream always asks for usage, beside the options of the caller', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  await collect(
    client.stream(ask('Hi', { stream_options: { include_usage: false, chunk_size: 1 } }), context()),
  );
  t.deepEqual(provider.requests[0]?.body.stream_options, { include_usage: true, chunk_size: 1 });
  t.true(provider.requests[0]?.body.stream);
});

test('includeUsage: false leaves stream_options out for servers that refuse it', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url, { includeUsage: false });
  await collect(client.stream(ask(), context()));
  t.false('stream_options' in provider.requests[0]!.body);
});

test('a call carries the key, the request id and the trace headers', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url, { apiKey: ` ${API_KEY}\n` });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await client.complete(ask(), { ...context(), traceHeaders: { traceparent } });
  const { headers } = provider.requests[0]!;
  t.is(headers.authorization, `Bearer ${API_KEY}`);
  t.is(headers['x-request-id'], 'request-1');
  t.is(headers.traceparent, traceparent);
  t.is(headers['content-type'], 'application/json');
});

test('without a key no authorization is sent', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url, { apiKey: undefined });
  await client.complete(ask(), context());
  t.is(provider.requests[0]?.headers.authorization, undefined);
});

test('calls one after the other share their connections, whatever their kind', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  for (let i = 0; i < 5; i += 1) {
    await client.complete(ask(), context());
    await collect(client.stream(ask(), context()));
  }
  t.is(provider.requests.length, 10);
  // Two at most: a stream's connection is free only when its very last bytes have come, just after `[DONE]`.
  t.true(provider.connections <= 2, `${provider.connections} connections`);
});

test('a stream whose body ends a moment after [DONE] leaves its connection in use', async (t) => {
  const end = Promise.withResolvers<void>();
  await using provider = await startFakeProvider(async ({ response, write }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of streamEvents(['a'])) await write(event);
    await end.promise;
    response.end();
  }, plain());
  await using client = clientFor(provider.url);
  // It does not wait for the end of the body.
  t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
  end.resolve();
  t.false(provider.requests[0]?.isAborted);
  await until(async () => {
    await client.complete(ask(), context());
    return provider.requests.at(-1)?.connection === 1;
  });
});

test('a stream whose body does not end after [DONE] loses its connection', async (t) => {
  const events = streamEvents(['a']);
  await using provider = await startFakeProvider(stream(['a'], { hangAfter: events.length }));
  await using client = clientFor(provider.url);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('no more connections are opened than allowed, and the calls that wait are answered', async (t) => {
  await using provider = await startFakeProvider(stream(['a'], { delayMs: 5 }));
  await using client = clientFor(provider.url, { connections: 2 });
  const streams = Array.from({ length: 8 }, () => collect(client.stream(ask(), context())));
  for (const chunks of await Promise.all(streams)) t.is(textOf(chunks), 'a');
  t.is(provider.connections, 2);
});

test('more waiting calls than allowed are refused, until places are free again', async (t) => {
  await using provider = await startFakeProvider(silence(), plain());
  await using client = clientFor(provider.url, { connections: 1, maxWaiting: 1 });
  const caller = new AbortController();
  const held = [1, 2].map(() => failureOf(t, client.complete(ask(), context(caller.signal))));
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.overloaded');
  t.is(error.kind, 'unavailable');
  await until(() => provider.requests.length === 1);
  caller.abort();
  for (const { code } of await Promise.all(held)) t.is(code, 'model.aborted');
  const isAnswered = () =>
    client.complete(ask(), context()).then(
      () => true,
      () => false,
    );
  await until(isAnswered);
  t.is(provider.requests.length, 2, 'the call that was aborted while it waited was never sent');
});

test('nothing is sent for a stream that nobody reads', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  client.stream(ask(), context());
  await client.complete(ask(), context());
  t.is(provider.requests.length, 1);
});

test('what beforeCall throws stops the call before anything is sent', async (t) => {
  await using provider = await startFakeProvider();
  const beforeCall = () => {
    throw new Error('inside a transaction');
  };
  await using client = clientFor(provider.url, { beforeCall });
  await t.throwsAsync(client.complete(ask(), context()), { message: 'inside a transaction' });
  await t.throwsAsync(collect(client.stream(ask(), context())), { message: 'inside a transaction' });
  t.is(provider.requests.length, 0);
});

test('/chat/completions is appended to the path of the base URL, whatever that is', async (t) => {
  await using provider = await startFakeProvider();
  const origin = `http://127.0.0.1:${provider.port}`;
  const bases = ['', '/', '/v1', '/v1/', '/api/openai/v1//', '/v1?api-version=2'];
  for (const base of bases) {
    await using client = clientFor(`${origin}${base}`);
    await client.complete(ask(), context());
  }
  t.deepEqual(
    provider.requests.map(({ path }) => path),
    [
      '/chat/completions',
      '/chat/completions',
      '/v1/chat/completions',
      '/v1/chat/completions',
      '/api/openai/v1/chat/completions',
      '/v1/chat/completions?api-version=2',
    ],
  );
});

test('a URL or a key that cannot work is refused at once, without repeating it', (t) => {
  for (const url of ['', 'localhost:1234', 'ftp://host/v1', 'http://user:secret@host/v1']) {
    const error = t.throws(() => clientFor(url), { instanceOf: TypeError });
    t.notRegex(error?.message ?? '', /secret/);
  }
  const error = t.throws(() => clientFor('http://host/v1', { apiKey: 'sk-a\nb' }), { instanceOf: TypeError });
  t.notRegex(error?.message ?? '', /sk-a/);
});

test('a caller who hangs up before the answer begins cancels the call at the provider', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using client = clientFor(provider.url);
  for (const [count, call] of [client.complete, client.stream].entries()) {
    const caller = new AbortController();
    const result = call(ask(), context(caller.signal));
    const failed = failureOf(t, result instanceof Promise ? result : collect(result));
    await until(() => provider.requests.length === count + 1);
    caller.abort();
    const error = await failed;
    t.is(error.code, 'model.aborted');
    t.is(error.kind, 'client-closed');
    await until(() => provider.requests[count]?.isAborted === true, 5_000);
  }
  t.is(provider.requests.length, 2, 'nothing is tried again');
});

test('a caller who hangs up during a stream cancels it at the provider and gets nothing more', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const seen: string[] = [];
  const reading = failureOf(
    t,
    (async () => {
      for await (const chunk of client.stream(ask(), context(caller.signal))) seen.push(textOf([chunk]));
    })(),
  );
  await until(() => seen.length === 3);
  caller.abort();
  t.is((await reading).code, 'model.aborted');
  t.deepEqual(seen, ['', 'a', 'b']);
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('the provider is cancelled at once, also while the consumer is not reading', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const chunks = client.stream(ask(), context(caller.signal))[Symbol.asyncIterator]();
  await chunks.next();
  caller.abort();
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
  t.is((await failureOf(t, chunks.next())).code, 'model.aborted');
});

test('leaving the loop cancels the call at the provider', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b', 'c'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  for await (const chunk of client.stream(ask(), context())) {
    if (textOf([chunk]) === 'a') break;
  }
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
  t.pass();
});

test('a caller who has hung up already costs no request', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  t.is((await failureOf(t, client.complete(ask(), context(AbortSignal.abort())))).code, 'model.aborted');
  t.is(
    (await failureOf(t, collect(client.stream(ask(), context(AbortSignal.abort()))))).code,
    'model.aborted',
  );
  t.is(provider.requests.length, 0);
});

test('a caller who hangs up between two attempts ends the waiting', async (t) => {
  await using provider = await startFakeProvider(failure(503, { 'retry-after': '9' }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const failed = failureOf(t, client.complete(ask(), context(caller.signal)));
  await until(() => provider.requests.length === 1);
  caller.abort();
  t.is((await failed).code, 'model.aborted');
  t.is(provider.requests.length, 1);
});

test('the listeners on the signal of a long-lived caller are gone after each call', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  const { signal } = new AbortController();
  const counts = { add: 0, remove: 0 };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    counts.add += 1;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    counts.remove += 1;
    removeEventListener.apply(signal, args);
  };
  await client.complete(ask(), context(signal));
  await collect(client.stream(ask(), context(signal)));
  t.deepEqual(counts, { add: 2, remove: 2 });
});

test('what a slow consumer does not take is not read from the provider', async (t) => {
  await using provider = await startFakeProvider(endlessStream());
  await using client = clientFor(provider.url);
  const chunks = client.stream(ask(), context())[Symbol.asyncIterator]();
  await chunks.next();
  const request = provider.requests[0]!;
  await settled(() => request.bytesWritten);
  t.true(request.isBlocked, 'the provider waits for the gateway');
  // What the two kernels' socket buffers hold; without backpressure this would be hundreds of megabytes.
  t.true(request.bytesWritten < 16 * 1024 * 1024, `${request.bytesWritten} bytes`);
  const before = request.bytesWritten;
  for (let i = 0; i < 2000; i += 1) await chunks.next();
  await until(() => request.bytesWritten > before);
  await chunks.return?.();
  await until(() => request.isAborted, 5_000);
});
