import net from 'node:net';
import test from 'ava';
import { failure, plain, silence, startFakeProvider, stream } from '../../../../support/fake-provider.ts';
import { until } from '../../../../support/until.ts';
import { ask, clientFor, collect, context, failureOf, textOf } from './calls.ts';

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
  await using client = clientFor(provider.url, { timeouts: { totalMs: 150 } });
  const error = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(error.code, 'model.timeout');
  t.is(error.detail, 'The model call took longer than 0.15 s.');
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
  await using client = clientFor(provider.url, { timeouts: { totalMs: 1_500 } });
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'model.timeout');
  t.is(provider.requests.length, 2);
});
