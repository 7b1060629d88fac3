import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { connectionsOf } from '../../../foundation/http/connections.ts';
import { GatewayResponse } from '../../../foundation/http/early-answers.ts';
import { giveUpSlowClients, inTurn } from '../../../foundation/http/open-requests.ts';

const SLOW_CLIENT = 600;
/** More than the buffers of a connection take. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

const SIZES: Record<string, Buffer> = {
  '/stream': LARGE.subarray(LARGE.length / 2),
  '/1': Buffer.concat([LARGE, LARGE]),
};

async function serve(
  t: ExecutionContext,
  listener: RequestListener,
  bounds: Parameters<typeof giveUpSlowClients>[2] = { afterMs: SLOW_CLIENT },
): Promise<Server> {
  const server = createServer({ ServerResponse: GatewayResponse }, inTurn(listener));
  giveUpSlowClients(server, connectionsOf(server), bounds);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function ask(t: ExecutionContext, server: Server, times = 1, path = '/'): net.Socket {
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
  t.teardown(() => socket.destroy());
  return socket;
}

for (const [what, send] of [
  ['that is complete', (response) => response.end(LARGE)],
  ['that is a stream', (response) => Readable.from([LARGE, LARGE]).pipe(response)],
  ['that comes late', (response) => setTimeout(() => response.end(LARGE), 2 * SLOW_CLIENT)],
] as [string, (response: GatewayResponse) => void][]) {
  test(`a client that takes nothing of an answer ${what} is given up`, async (t) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const server = await serve(t, (_, response) => {
      response.once('close', resolve);
      send(response as GatewayResponse);
    });
    ask(t, server).pause();
    t.is(await Promise.race([closed, pause(10 * SLOW_CLIENT, 'still open', { ref: false })]), undefined);
  });
}

test('a client that reads slowly gets its whole answer', async (t) => {
  const server = await serve(t, (_, response) => response.end(LARGE));
  const socket = ask(t, server);
  const step = LARGE.length / 24;
  let received = 0;
  let pauses = 0;
  for await (const chunk of socket) {
    received += (chunk as Buffer).length;
    if (received >= LARGE.length) break;
    if (received < (pauses + 1) * step) continue;
    pauses += 1;
    await pause(SLOW_CLIENT / 8);
  }
  t.true(received >= LARGE.length);
  t.true(pauses * (SLOW_CLIENT / 8) > 2 * SLOW_CLIENT, 'it took longer than a client may take nothing');
});

test('a client may wait for its answer, and for the next part of it, for as long as it takes', async (t) => {
  const server = await serve(t, async (_, response) => {
    await pause(2 * SLOW_CLIENT);
    response.write('one');
    await pause(2 * SLOW_CLIENT);
    response.end('two');
  });
  const socket = ask(t, server, 2);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  while (text.split('two').length < 3 && !socket.closed) await pause(20);
  t.is(text.split('two').length, 3);
});

test('where clients together leave too much untaken, the one for which most waits is given up', async (t) => {
  const asked: (string | undefined)[] = [];
  const closed: (string | undefined)[] = [];
  const server = await serve(
    t,
    ({ url }, response) => {
      asked.push(url);
      response.once('close', () => closed.push(url));
      response.end(url === '/small' ? 'small' : (SIZES[url!] ?? LARGE));
    },
    { mostWaiting: 3.75 * LARGE.length, everyMs: 20 },
  );
  // Waits for longer than the others, and would free little.
  ask(t, server, 1, '/stream').pause();
  while (asked.length < 1) await pause(20);
  ask(t, server, 1, '/1').pause();
  while (asked.length < 2) await pause(20);
  ask(t, server, 1, '/2').pause();
  // What waits for its turn on a connection has not begun, and takes no room.
  ask(t, server, 2, '/3').pause();
  while (closed.length < 1) await pause(20);
  await pause(200);
  t.deepEqual(closed, ['/1']);
  t.is(asked.length, 4);
  await once(ask(t, server, 1, '/small'), 'data');
});

test('a connection that waits for its next request is closed when its time is over', async (t) => {
  const server = await serve(t, (_, response) => response.end('one'));
  server.keepAliveTimeout = 200;
  const socket = ask(t, server).resume();
  t.is(
    await Promise.race([
      once(socket, 'close').then(() => 'closed'),
      pause(10 * SLOW_CLIENT, 'open', { ref: false }),
    ]),
    'closed',
  );
});
