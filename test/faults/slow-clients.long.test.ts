import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../foundation/base/clock.ts';
import { createIds } from '../../foundation/base/ids.ts';
import { readJson } from '../../foundation/http/body.ts';
import { createRefuseConnection } from '../../foundation/http/refusals.ts';
import { createMetrics } from '../../foundation/observability/metrics.ts';
import { Listeners } from '../../kernel/http/listeners.ts';
import { startPlatform } from '../plugins/platform/platform-gateway.ts';
import { endlessStream, startFakeProvider } from '../support/fake-provider.ts';
import { connect, statusOf } from '../support/raw-http.ts';
import { settled, until } from '../support/until.ts';

const REQUEST_TIMEOUT = 300;

/** A listener whose clients have little time, and what became of the bodies that it read. */
async function start(t: ExecutionContext) {
  const bodies: (unknown | Error)[] = [];
  const log = pino({ level: 'silent' });
  const listeners = new Listeners({
    handler: () => (request, response) => {
      if (request.url === '/stream') {
        const timer = setInterval(() => response.write('data: x\n\n'), 50);
        response.on('close', () => clearInterval(timer));
        return;
      }
      readJson({ req: request, res: response }, 1000).then(
        (body) => {
          bodies.push(body);
          response.end('read');
        },
        (failure) => {
          bodies.push(failure);
          response.writeHead(408).end();
        },
      );
    },
    everywhere: [],
    refuse: createRefuseConnection({
      clock: systemClock,
      ids: createIds(systemClock),
      http: createMetrics({ version: 'test', process: false }).http,
      log,
    }),
    log,
    requestTimeout: REQUEST_TIMEOUT,
  });
  const address = { host: '127.0.0.1', port: 0, variable: 'NONE' };
  await listeners.open(address, 'test');
  t.teardown(async () => {
    listeners.destroy();
    await listeners.close();
  });
  return { url: listeners.url(address), bodies };
}

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n';

/** One character after the other, until the server has had enough. */
async function drip(connection: Awaited<ReturnType<typeof connect>>, text: string): Promise<void> {
  for (const character of text) {
    if (connection.isClosed) return;
    connection.write(character);
    await pause(20);
  }
}

for (const [what, text] of [
  ['its headers', `${HEAD}X-Slow: ${'x'.repeat(1000)}`],
  ['its body', `${HEAD}\r\n{"a": "${'x'.repeat(1000)}`],
] as const) {
  test(`a client that sends ${what} a character at a time gets 408, and its connection is closed`, async (t) => {
    const { url } = await start(t);
    const connection = await connect(url);
    connection.write(what === 'its body' ? `${HEAD}\r\n` : HEAD);
    const began = performance.now();
    await Promise.race([drip(connection, text.slice(HEAD.length)), connection.closed]);
    await connection.closed;
    t.is(statusOf(connection.received()), 408);
    t.true(performance.now() - began < 60 * REQUEST_TIMEOUT);
  });
}

test('a client that sends nothing at all loses its connection', async (t) => {
  const { url } = await start(t);
  await (await connect(url)).closed;
  t.pass();
});

test('whoever reads a body that stops coming is told, once', async (t) => {
  const { url, bodies } = await start(t);
  const connection = await connect(url);
  connection.write(`${HEAD}\r\n{"a":`);
  await connection.closed;
  await until(() => bodies.length === 1);
  t.like(bodies[0], { code: 'request.timeout' });
});

test('an answer may take longer than its request', async (t) => {
  const { url } = await start(t);
  const connection = await connect(url);
  connection.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
  await pause(3 * REQUEST_TIMEOUT);
  t.false(connection.isClosed);
  const before = connection.received().length;
  await until(() => connection.received().length > before);
  connection.destroy();
});

test('a client that does not read its stream stops the provider, not the gateway’s memory', async (t) => {
  const provider = await startFakeProvider(endlessStream());
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startPlatform(t, { env: { LLM_API_URL: provider.url } });
  const leaving = new AbortController();
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'hello' }] };
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  const [request] = provider.requests;
  await until(() => request!.isBlocked);
  await settled(() => request!.bytesWritten);
  t.true(request!.isBlocked);
  t.is((await gateway.request('/v1/me')).status, 200);
  leaving.abort();
  await response.body!.cancel().catch(() => {});
  await until(() => request!.isAborted);
});
