import { execFile, spawnSync } from 'node:child_process';
import net from 'node:net';
import { promisify } from 'node:util';
import test from 'ava';
import Type from 'typebox';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { connect, exchange, statusOf } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;
const LIMIT = 100_000;

const take = { method: 'POST', bodyLimit: LIMIT, schema: { body: Type.Object({}) } } as const;
const plugin = testPlugin('things', {
  setup: (scope) =>
    scope.route(
      route({
        ...take,
        path: '/open',
        summary: 'takes a body',
        access: access.public(),
        rateLimit: 'none',
        handle: () => ({ read: true }),
      }),
      route({
        ...take,
        path: '/closed',
        summary: 'users only',
        access: access.role('user'),
        handle: () => ({}),
      }),
      route({
        path: '/unread',
        summary: 'takes none',
        access: access.public(),
        rateLimit: 'none',
        method: 'POST',
        handle: () => ({ read: false }),
      }),
    ),
});
let gateway: TestGateway;

test.before(async () => {
  gateway = await startTestGateway({ plugins: [plugin], env: { SVC_ANON_RATE_LIMIT_RPM: '1000000' } });
});
test.after.always(() => gateway.stop());

test('a client that sends more than the largest file without reading gets its 401', async (t) => {
  const size = 48; // MiB: more than a file and its form, since the machine takes some of it too
  // In large pieces: the gateway reads for five seconds, which are few turns of the event loop on a busy machine.
  const request = `${head('/closed', `Content-Length: ${size * MIB}`)}\r\n`;
  const { received, failure } = await sendAll(request, size, Buffer.alloc(MIB, 'x'));
  t.is(failure, undefined);
  t.is(problem(received).code, 'auth.required');
});

/** The head of a POST, without its last empty line. */
const head = (path: string, ...lines: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', ...lines, ''].join('\r\n');

/** Sends a head and then a block so many times, and reads nothing before all is sent, as simple clients do. */
async function sendAll(request: string, blocks: number, block = Buffer.alloc(64 * 1024, 'x')) {
  const { hostname, port } = new URL(gateway.url);
  // Half-open: the end of the other side is no reason to stop sending.
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let failure: string | undefined;
  let received = '';
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code;
  });
  socket.once('close', () => resolve());
  socket.write(request);
  const piece = request.includes('chunked')
    ? Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')])
    : block;
  let sent = 0;
  for (; sent < blocks && !socket.destroyed; sent += 1) {
    const { promise, resolve: written } = Promise.withResolvers<void>();
    socket.write(piece, () => written());
    await Promise.race([promise, closed]);
  }
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  socket.end();
  await closed;
  return { received, failure, bytes: sent * block.length };
}

const problem = (received: string): { code?: string; instance?: string } => {
  const [headers = '', body = ''] = received.split('\r\n\r\n');
  if (!/content-type: application\/problem\+json/i.test(headers)) return {};
  return JSON.parse(body);
};

const refusals = [
  ['413', '/open', 'request.too-large'],
  ['401', '/closed', 'auth.required'],
  ['404', '/nowhere', 'path.not-found'],
] as const;

for (const [status, path, code] of refusals) {
  for (const framing of [`Content-Length: ${3 * 1024 * MIB}`, 'Transfer-Encoding: chunked']) {
    test(`a client that sends on without reading gets its ${status} (${framing})`, async (t) => {
      const { received, failure } = await sendAll(`${head(path, framing)}\r\n`, (8 * MIB) / 65_536);
      t.is(failure, undefined);
      t.is(statusOf(received), Number(status));
      t.is(problem(received).code, code);
      t.regex(received, /\r\nconnection: close\r\n/i);
    });
  }

  test(`of 3 GB that get a ${status} only a bounded part is read`, async (t) => {
    const { bytes } = await sendAll(`${head(path, `Content-Length: ${3 * 1024 * MIB}`)}\r\n`, 3 * 1024 * 16);
    t.true(bytes < 128 * MIB, String(bytes));
  });

  const hasCurl = spawnSync('curl', ['--version']).status === 0;
  (hasCurl ? test : test.skip)(`curl shows the ${status} of an endless upload`, async (t) => {
    for (const expect of ['Expect: 100-continue', 'Expect:']) {
      const upload = `head -c 3G /dev/zero | curl -sS -X POST -T - -H '${expect}' -H 'Content-Type: application/json' '${gateway.url}${path}'`;
      const { stdout } = await promisify(execFile)('sh', ['-c', upload]);
      t.is(JSON.parse(stdout).code, code, expect);
    }
  });

  test(`fetch with an endless stream gets its ${status}`, async (t) => {
    const body = new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536)) });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body, duplex: 'half' });
    t.is(answer.status, Number(status));
    t.is(((await answer.json()) as { code: string }).code, code);
  });
}

test('a large body that its route does not read ends the connection, and is not read to its end', async (t) => {
  const { received, bytes } = await sendAll(
    `${head('/unread', `Content-Length: ${1024 * MIB}`)}\r\n`,
    16_384,
  );
  t.true(received === '' || statusOf(received) === 200);
  t.true(bytes < 128 * MIB, String(bytes));
});

test('what follows a body that was not read is no request', async (t) => {
  const connection = await connect(gateway.url);
  connection.write(`${head('/closed', 'Transfer-Encoding: chunked')}\r\n`);
  await until(() => connection.received() !== '');
  connection.write('5\r\nhello\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  connection.write('and no HTTP at all\r\n\r\n');
  await connection.closed;
  t.is(connection.received().match(/HTTP\/1\.1/g)?.length, 1);
});

test('a small body that was not read leaves the connection open', async (t) => {
  const connection = await connect(gateway.url);
  connection.write(`${head('/closed', 'Content-Length: 5')}\r\n`);
  await until(() => statusOf(connection.received()) === 401);
  t.regex(connection.received(), /connection: keep-alive/i);
  connection.write('helloGET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await connection.closed;
  t.regex(connection.received(), /\{"status":"ok"\}$/);
});

test('an HTTP/1.0 client that is still sending gets its answer too', async (t) => {
  const request = head('/closed', 'Content-Length: 60000').replace('HTTP/1.1', 'HTTP/1.0');
  const connection = await connect(gateway.url);
  connection.write(`${request}\r\n`);
  await until(() => statusOf(connection.received()) === 401);
  connection.write('x'.repeat(60_000));
  await connection.closed;
  t.is(problem(connection.received()).code, 'auth.required');
});

test('a body longer than it says is an answer, and then a refusal; a shorter one is a client that left', async (t) => {
  const longer = await exchange(gateway.url, `${head('/open', 'Content-Length: 2')}\r\n{}{}\r\n\r\n`);
  t.deepEqual(
    [...longer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['200', '400'],
  );
  t.regex(longer, /"code":"request\.not-http"\}$/);
  const shorter = await connect(gateway.url);
  shorter.write(`${head('/open', 'Content-Length: 9')}\r\n{}`);
  shorter.destroy();
  const isNoted = () => gateway.logs().some((line) => /"path":"\/open","status":499/.test(line));
  await until(isNoted);
  t.pass();
});

test('100 Continue is said when the body begins to be read', async (t) => {
  const connection = await connect(gateway.url);
  connection.write(`${head('/open', 'Expect: 100-continue', 'Content-Length: 2', 'Connection: close')}\r\n`);
  await until(() => connection.received() !== '');
  t.is(connection.received(), 'HTTP/1.1 100 Continue\r\n\r\n');
  connection.write('{}');
  await connection.closed;
  t.is(statusOf(connection.received().slice(25)), 200);
});

for (const [what, path, lines, status] of [
  ['too large a body', '/open', [`Content-Length: ${LIMIT + 1}`], 413],
  ['no credential', '/closed', ['Content-Length: 2'], 401],
  ['an unknown path', '/nowhere', ['Content-Length: 2'], 404],
  ['a compressed body', '/open', ['Content-Length: 2', 'Content-Encoding: gzip'], 415],
  ['a route without a body', '/unread', ['Content-Length: 2'], 200],
] as const) {
  test(`a client that expects 100 Continue gets ${status} instead: ${what}`, async (t) => {
    const connection = await connect(gateway.url);
    connection.write(`${head(path, 'Expect: 100-continue', ...lines)}\r\n`);
    await until(() => connection.received() !== '');
    t.is(statusOf(connection.received()), status);
    connection.destroy();
  });
}

test('HTTP/1.0 knows no 100 Continue', async (t) => {
  const request = head('/open', 'Expect: 100-continue', 'Content-Length: 2').replace('HTTP/1.1', 'HTTP/1.0');
  t.is(statusOf(await exchange(gateway.url, `${request}\r\n{}`)), 200);
});

test('a stop does not wait for a client that is still sending after its answer', async (t) => {
  const stopped = await startTestGateway({ plugins: [plugin], env: { SVC_DRAIN_TIMEOUT: '100ms' } });
  t.teardown(stopped.stop);
  const { hostname, port } = new URL(stopped.url);
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  socket.write(`${head('/nowhere', 'Transfer-Encoding: chunked')}\r\n`);
  await until(() => statusOf(received) === 404 && socket.readableEnded);
  socket.write('5\r\nhello\r\n');
  await stopped.stop();
  await until(() => {
    socket.write('5\r\nhello\r\n');
    return socket.destroyed;
  });
  t.pass();
});
