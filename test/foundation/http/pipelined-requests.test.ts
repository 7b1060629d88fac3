import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { inTurn } from '../../../foundation/http/open-requests.ts';
import { until } from '../../support/until.ts';

async function connect(t: ExecutionContext, listener: RequestListener): Promise<net.Socket> {
  const server = createServer(inTurn(listener)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  t.teardown(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('requests that are sent in one go are served one after the other, with their bodies', async (t) => {
  const events: string[] = [];
  const socket = await connect(t, async (request, response) => {
    let body = '';
    events.push(`begin ${request.url}`);
    for await (const part of request) body += part;
    await new Promise(setImmediate);
    events.push(`end ${request.url}`);
    response.end(`(${body})`);
  });
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  socket.write(post('/1', 'one') + get('/2') + post('/3', 'three'));
  await until(() => received.includes('(three)'));
  t.deepEqual(events, ['begin /1', 'end /1', 'begin /2', 'end /2', 'begin /3', 'end /3']);
  t.deepEqual(received.match(/\(\w*\)/g), ['(one)', '()', '(three)']);
  socket.write(get('/4'));
  await until(() => events.includes('end /4'));
});

test('what waits for its turn is not served when its client has left', async (t) => {
  const served: string[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const socket = await connect(t, (request, response) => {
    served.push(request.url!);
    response.once('close', resolve);
  });
  socket.write(get('/1') + get('/2'));
  await until(() => served.length === 1);
  socket.destroy();
  await closed;
  await new Promise(setImmediate);
  t.deepEqual(served, ['/1']);
});

test('what waits behind an answer that closes the connection is not served', async (t) => {
  const served: string[] = [];
  const socket = await connect(t, (request, response) => {
    served.push(request.url!);
    response.setHeader('Connection', 'close').end('(closed)');
  });
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  socket.write(get('/1') + post('/2', 'two') + get('/3'));
  await once(socket, 'close');
  t.true(received.endsWith('(closed)'));
  t.deepEqual(served, ['/1']);
});

test('a request waits for an answer that is written whole before its body was read', async (t) => {
  const served: string[] = [];
  const socket = await connect(t, (request, response) => {
    served.push(request.url!);
    response.end(request.url);
  });
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  const large = 'x'.repeat(1024 * 1024);
  socket.write(post('/1', large) + post('/2', large) + get('/3'));
  await until(() => received.includes('/3'));
  t.deepEqual(served, ['/1', '/2', '/3']);
});

test('a connection on which too many wait is broken', async (t) => {
  let served = 0;
  const socket = await connect(t, () => {
    served += 1;
  });
  socket.write(get('/').repeat(1_000));
  await once(socket, 'close');
  t.is(served, 1);
});
