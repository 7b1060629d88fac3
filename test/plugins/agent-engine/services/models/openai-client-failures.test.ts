import net from 'node:net';
import { inspect } from 'node:util';
import test from 'ava';
import {
  cut,
  failure,
  json,
  type ProviderScript,
  plain,
  rawStream,
  silence,
  sse,
  startFakeProvider,
  stream,
  streamEvents,
} from '../../../../support/fake-provider.ts';
import { until } from '../../../../support/until.ts';
import { API_KEY, ask, clientFor, collect, context, failureOf, textOf } from './calls.ts';

// A client loads it with its first call, which would be part of the short deadlines here.
await import('undici');

const CHUNK = sse({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] });
const FINISH = sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });

const raw =
  (body: string): ProviderScript =>
  ({ response }) =>
    void response.end(body);

const BAD_ANSWERS: [string, ProviderScript, RegExp][] = [
  ['no JSON', raw('<html>Hello</html>'), /not JSON/],
  ['an empty body', raw(''), /not JSON/],
  ['null', raw('null'), /no choices/],
  ['no choices', json(200, { id: 'x' }), /no choices/],
  ['an empty list of choices', json(200, { choices: [] }), /no choices/],
  ['a choice without a message', json(200, { choices: [{ finish_reason: 'stop' }] }), /no message/],
  ['no finish_reason', json(200, { choices: [{ message: { content: 'a' } }] }), /no finish_reason/],
  ['an error with status 200', json(200, { error: { message: 'secret plan' } }), /reported an error/],
  [
    'a body cut short',
    ({ response }) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"choices":');
      setImmediate(() => response.destroy());
    },
    /connection .* broke/,
  ],
];
for (const [name, script, message] of BAD_ANSWERS) {
  test(`an answer with ${name} is an upstream failure`, async (t) => {
    await using provider = await startFakeProvider(script);
    await using client = clientFor(provider.url);
    const error = await failureOf(t, client.complete(ask(), context()));
    t.is(error.code, 'model.upstream');
    t.regex(error.detail, message);
    t.notRegex(error.detail, /secret plan/);
    t.is(provider.requests.length, 1);
  });
}

const BAD_STREAMS: [string, string[], RegExp][] = [
  ['nothing in it', [], /without a finish_reason/],
  ['no event stream at all', ['<html>Hello</html>'], /without a finish_reason/],
  ['neither finish_reason nor [DONE]', [CHUNK], /without a finish_reason/],
  ['[DONE] but no finish_reason', [CHUNK, 'data: [DONE]\n\n'], /without a finish_reason/],
  ['an event that is not JSON', [CHUNK, 'data: {"choi\n\n', FINISH], /not JSON/],
  ['an event that is no chunk', [CHUNK, 'data: {"id":"x"}\n\n', FINISH], /not a chat completion chunk/],
  ['an event that is null', [CHUNK, 'data: null\n\n', FINISH], /not a chat completion chunk/],
  ['an error object', [CHUNK, sse({ error: { message: 'secret plan' } }), FINISH], /reported an error/],
  ['an error string', [CHUNK, sse({ error: 'secret plan' }), FINISH], /reported an error/],
  ['an event named error', [CHUNK, 'event: error\ndata: secret plan\n\n', FINISH], /reported an error/],
];
for (const [name, pieces, message] of BAD_STREAMS) {
  test(`a stream with ${name} fails after its good chunks`, async (t) => {
    await using provider = await startFakeProvider(rawStream(pieces.join('')));
    await using client = clientFor(provider.url);
    const seen: string[] = [];
    const error = await failureOf(
      t,
      (async () => {
        for await (const chunk of client.stream(ask(), context())) seen.push(textOf([chunk]));
      })(),
    );
    t.is(error.code, 'model.upstream');
    t.regex(error.detail, message);
    t.notRegex(error.detail, /secret plan/);
    t.deepEqual(seen, pieces.includes(CHUNK) ? ['a'] : []);
  });
}

test('a stream with a finish_reason is whole even when [DONE] is missing', async (t) => {
  await using provider = await startFakeProvider(rawStream(CHUNK, FINISH));
  await using client = clientFor(provider.url);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
});

for (const [how, options] of [
  ['breaks', { cutAfter: 3 }],
  ['falls silent', { hangAfter: 3 }],
] as const) {
  test(`a stream that ${how} after its finish_reason is whole`, async (t) => {
    await using provider = await startFakeProvider(stream(['a'], options));
    await using client = clientFor(provider.url, { timeouts: { idleMs: 80 } });
    t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
    await until(() => provider.requests[0]?.isAborted === true, 5_000);
  });
}

test('a caller that leaves after the finish_reason has left all the same', async (t) => {
  await using provider = await startFakeProvider(stream(['a'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  const end = new AbortController();
  const answer = client.stream(ask(), context(end.signal));
  const error = await failureOf(
    t,
    (async () => {
      for await (const { choices } of answer) if (choices[0]?.finish_reason) end.abort();
    })(),
  );
  t.is(error.code, 'model.aborted');
});

test('what comes after [DONE] is ignored', async (t) => {
  await using provider = await startFakeProvider(rawStream(CHUNK + FINISH, 'data: [DONE]\n\n', CHUNK));
  await using client = clientFor(provider.url);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
});

test('comments, event names, ids and carriage returns do no harm', async (t) => {
  const events = `: processing\r\n\r\nid: 1\r\nevent: message\r\n${CHUNK.trim()}\r\n\r\n${FINISH}`;
  await using provider = await startFakeProvider(rawStream(events));
  await using client = clientFor(provider.url);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'a');
});

test('characters that are split between two packets arrive whole', async (t) => {
  const bytes = Buffer.from(streamEvents(['ü€😀', '한국어']).join(''));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
    bytes.subarray(i * 7, i * 7 + 7),
  );
  await using provider = await startFakeProvider(rawStream(...pieces));
  await using client = clientFor(provider.url);
  t.is(textOf(await collect(client.stream(ask(), context()))), 'ü€😀한국어');
});

test('an error in JSON in the place of a stream, and a page in HTML, are told as what they are', async (t) => {
  const page: ProviderScript = ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><title>Sign in</title>');
  };
  await using provider = await startFakeProvider(failure(200, {}, { message: 'no quota' }), page);
  await using client = clientFor(provider.url);
  const reported = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(reported.code, 'model.upstream');
  t.regex(String(reported.extras.cause), /no quota/);
  for (const call of [collect(client.stream(ask(), context())), client.complete(ask(), context())]) {
    const { code, message } = await failureOf(t, call);
    t.is(code, 'model.upstream');
    t.regex(message, /it is a page in HTML/);
  }
});

test('an answer, an event and an error body have a size limit', async (t) => {
  const limits = { answerBytes: 2000, eventChars: 2000, errorBytes: 200 };
  const big = 'x'.repeat(4000);
  const half = `data: {"choices":[{"index":0,"delta":{"content":"${big}`;
  await using provider = await startFakeProvider(
    plain(big),
    rawStream(CHUNK, half, half),
    failure(400, {}, { message: big }),
  );
  await using client = clientFor(provider.url, limits);
  t.regex((await failureOf(t, client.complete(ask(), context()))).detail, /too large/);
  t.regex((await failureOf(t, collect(client.stream(ask(), context())))).detail, /too large/);
  t.is(
    (await failureOf(t, client.complete(ask(), context()))).detail,
    'The model provider rejected the request',
  );
});

test('a 400 says why, in one line of bounded length, with the field', async (t) => {
  const message = `Unsupported value:\n\u001b[31m'temperature'${'!'.repeat(1000)}`;
  await using provider = await startFakeProvider(failure(400, {}, { message, param: 'temperature' }));
  await using client = clientFor(provider.url);
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.rejected');
  t.true(
    error.detail.startsWith(
      "The model provider rejected the request: Unsupported value: [31m'temperature'!!",
    ),
  );
  t.true(error.detail.length < 600);
  t.is(error.extras.param, 'temperature');
});

test('the words of a 401 or a 500 are for the log alone', async (t) => {
  await using provider = await startFakeProvider(
    failure(401, {}, { message: 'account of Jane Doe is closed' }),
  );
  await using client = clientFor(provider.url);
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.detail, 'The model provider answered with status 401.');
  t.regex(String(error.extras.cause), /Jane Doe/);
});

const echo = (status: number): ProviderScript => {
  return (reply) => {
    const sent = reply.request.headers.authorization ?? '';
    return failure(
      status,
      { 'x-echo': sent },
      { message: `refused ${sent} and ${API_KEY}`, param: API_KEY },
    )(reply);
  };
};
const LEAKS: [string, ProviderScript][] = [
  ...[302, 400, 401, 403, 404, 429, 500].map((status): [string, ProviderScript] => [
    `status ${status}`,
    echo(status),
  ]),
  ['an error with status 200', json(200, { error: { message: `bad key ${API_KEY}` } })],
  ['an error in the stream', rawStream(sse({ error: { message: `bad key ${API_KEY}` } }))],
  ['garbage', rawStream(`data: ${API_KEY}\n\n`)],
  ['an event named error', rawStream(`event: error\ndata: Bearer ${API_KEY}\n\n`)],
  ['no HTTP at all', ({ response }) => void response.socket?.end(`${API_KEY}\r\n\r\n`)],
  ['a cut connection', cut()],
];
for (const [name, script] of LEAKS) {
  test(`the key is in no part of the error after ${name}`, async (t) => {
    await using provider = await startFakeProvider(script);
    await using client = clientFor(provider.url, { retry: { retries: 0 } });
    for (const call of [client.complete(ask(), context()), collect(client.stream(ask(), context()))]) {
      const error = await failureOf(t, call);
      const everything = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
      t.false(everything.includes(API_KEY), everything);
    }
    t.is(provider.requests[0]?.headers.authorization, `Bearer ${API_KEY}`);
  });
}

test('connecting has a deadline, the TLS handshake included', async (t) => {
  // Accepts connections and never says a word of TLS.
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const sockets: net.Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket.on('error', () => {})));
  const { port } = server.address() as net.AddressInfo;
  const options = { timeouts: { connectMs: 100 }, retry: { retries: 1 } };
  await using client = clientFor(`https://127.0.0.1:${port}/v1`, options);
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.timeout');
  t.is(error.kind, 'upstream');
  t.is(error.detail, 'The model provider could not be reached within 0.1 s.');
  t.is(sockets.length, 2, 'a failed connection is tried again');
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('the beginning of a stream has a deadline, after which nothing is tried again', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using client = clientFor(provider.url, { timeouts: { firstByteMs: 80 } });
  const error = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(error.code, 'model.timeout');
  t.is(error.detail, 'The model provider did not begin to answer within 0.08 s.');
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
  t.is(provider.requests.length, 1);
});

test('a plain answer may take longer to begin than a stream', async (t) => {
  await using provider = await startFakeProvider(async (reply) => {
    await new Promise((resolve) => setTimeout(resolve, 120));
    await plain('late')(reply);
  });
  await using client = clientFor(provider.url, { timeouts: { firstByteMs: 40 } });
  t.is((await client.complete(ask(), context())).choices[0]?.message.content, 'late');
});

test('silence inside a stream has a deadline', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b'], { hangAfter: 2 }));
  await using client = clientFor(provider.url, { timeouts: { idleMs: 80 } });
  const seen: string[] = [];
  const error = await failureOf(
    t,
    (async () => {
      for await (const chunk of client.stream(ask(), context())) seen.push(textOf([chunk]));
    })(),
  );
  t.is(error.code, 'model.timeout');
  t.is(error.detail, 'The model provider sent nothing for 0.08 s while answering.');
  t.deepEqual(seen, ['', 'a']);
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('silence inside a plain answer has a deadline', async (t) => {
  await using provider = await startFakeProvider(({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"choices":');
  });
  await using client = clientFor(provider.url, { timeouts: { idleMs: 80 } });
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.timeout');
});

test('the time in which the consumer does not read is no silence of the provider', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b', 'c']));
  await using client = clientFor(provider.url, { timeouts: { idleMs: 50 } });
  const seen: string[] = [];
  for await (const chunk of client.stream(ask(), context())) {
    await new Promise((resolve) => setTimeout(resolve, 70));
    seen.push(textOf([chunk]));
  }
  t.is(seen.join(''), 'abc');
});

test('a stream that keeps talking still has a total deadline', async (t) => {
  const contents = Array.from({ length: 1000 }, () => 'a');
  await using provider = await startFakeProvider(stream(contents, { delayMs: 5 }));
  await using client = clientFor(provider.url, { timeouts: { totalMs: 500 } });
  const error = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(error.code, 'model.timeout');
  t.is(error.detail, 'The model call took longer than 0.5 s.');
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('a plain answer that never begins ends at the total deadline', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using client = clientFor(provider.url, { timeouts: { totalMs: 80 } });
  t.is(
    (await failureOf(t, client.complete(ask(), context()))).detail,
    'The model call took longer than 0.08 s.',
  );
});

test('an error whose body never ends is told all the same', async (t) => {
  await using provider = await startFakeProvider(({ response }) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.write(`{"error":{"message":"${'x'.repeat(64 * 1024)}`);
  });
  await using client = clientFor(provider.url);
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.rejected');
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('the total deadline holds over all attempts', async (t) => {
  await using provider = await startFakeProvider(failure(503), silence());
  await using client = clientFor(provider.url, { timeouts: { totalMs: 5_000 } });
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.timeout');
  t.is(provider.requests.length, 2);
});
