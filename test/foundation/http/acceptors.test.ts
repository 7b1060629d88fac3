import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { platform } from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { bind, closeServer } from '../../../foundation/http/acceptors.ts';
import { freePort } from '../../support/free-port.ts';
import { exchange } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

const HOST = '127.0.0.1';
/** Of 64 clients; other systems than Linux may not let sockets share an address. */
const MOST_TURNS = platform === 'linux' ? 32 : 64;

async function serve(t: ExecutionContext, port: number) {
  const server = createServer({ noDelay: true }, (_, response) => response.end('served'));
  await bind(server, HOST, port);
  t.teardown(() => closeServer(server));
  return { server, port: (server.address() as AddressInfo).port };
}

/** As many clients, whose connections wait until the event loop has its next turn. */
function connectAtOnce(t: ExecutionContext, port: number, count: number): readonly net.Socket[] {
  const clients = Array.from({ length: count }, () => net.connect(port, HOST).on('error', () => {}));
  t.teardown(() => clients.map((client) => client.destroy()));
  return clients;
}

for (const kind of ['a chosen', 'any'] as const) {
  test(`clients that come at once do not wait for a turn of the event loop each, at ${kind} port`, async (t) => {
    const { server, port } = await serve(t, kind === 'any' ? 0 : await freePort());
    const accepted: number[] = [];
    const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount;
    server.on('connection', () => accepted.push(turns()));
    connectAtOnce(t, port, 64);
    await until(async () => accepted.length === 64);
    const used = new Set(accepted).size;
    t.true(used <= MOST_TURNS, `64 connections took ${used} turns`);
  });
}

test('each connection is served, also of a client that ends its side with the request', async (t) => {
  const { port } = await serve(t, 0);
  const clients = connectAtOnce(t, port, 64);
  const answers = await Promise.all(
    clients.map(async (client) => {
      client.end('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      return Buffer.concat(await client.toArray()).toString();
    }),
  );
  t.true(answers.every((answer) => answer.endsWith('served')));
});

test('an address belongs to one server, whoever comes second', async (t) => {
  const { port } = await serve(t, 0);
  const second = createServer();
  await t.throwsAsync(bind(second, HOST, port), { code: 'EADDRINUSE' });
  const plain = net.createServer().listen(port, HOST);
  const [error] = await once(plain, 'error');
  t.is(error.code, 'EADDRINUSE');
  t.true(
    (
      await exchange(`http://${HOST}:${port}`, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    ).endsWith('served'),
  );
});

test('a closed server takes nobody any more, and waits for those whom it has', async (t) => {
  const held: IncomingMessage[] = [];
  const server = createServer((request) => void held.push(request));
  await bind(server, HOST, 0);
  const { port } = server.address() as AddressInfo;
  const clients = connectAtOnce(t, port, 32);
  for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(async () => held.length === 32);
  let isClosed = false;
  const closed = closeServer(server).then(() => {
    isClosed = true;
  });
  for (let n = 0; n < 32; n += 1) {
    const [error] = await once(net.connect(port, HOST), 'error');
    t.is(error.code, 'ECONNREFUSED');
  }
  for (const request of held.slice(1)) request.socket.destroy();
  await nextTurn();
  t.false(isClosed, 'one connection is open');
  held[0]!.socket.destroy();
  await closed;
  t.true(isClosed);
});
