import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../support/until.ts';
import { notesService, startGrpc } from './kit.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const METHOD = Buffer.from('/svc.notes.v1.NotesService/GetNote');
/** POST, http, :authority, :path. */
const HEADERS = Buffer.concat([Buffer.from([0x83, 0x86, 0x01, 1, 0x61, 0x04, METHOD.length]), METHOD]);
const PING = Buffer.from('answered');

test('a connection that cancels calls without end is closed, one that cancels all that it may have is not', async (t) => {
  await using grpc = await startGrpc({ services: [notesService()] });
  const client = cancelling(t, grpc.server.address!);

  client.cancel(250);
  await until(() => client.answered() === 1);
  t.false(client.socket.closed);
  client.cancel(700);
  await until(() => client.socket.closed);
  t.is((await grpc.client().call('GetNote')).code, 'OK', 'others are served');
});

test('a connection of a trusted proxy, on which are the calls of others, stays open however many are cancelled', async (t) => {
  await using grpc = await startGrpc({ services: [notesService()], trustedProxies: ['loopback'] });
  const proxy = cancelling(t, grpc.server.address!);

  for (let round = 1; round <= 5; round++) {
    proxy.cancel(1_000);
    await until(() => proxy.answered() === round || proxy.socket.closed);
  }
  t.false(proxy.socket.closed);
});

/** A connection that begins calls, cancels them at once, and then asks for an answer to a ping. */
function cancelling(t: ExecutionContext, address: string) {
  const { port, hostname } = new URL(`http://${address}`);
  const socket = net.connect(Number(port), hostname).on('error', () => undefined);
  t.teardown(() => socket.destroy());
  const answer = frame(6, 1, 0, PING);
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
  });
  socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0))]));
  let next = 1;
  return {
    socket,
    cancel(calls: number) {
      const frames: Buffer[] = [];
      for (const last = next + 2 * calls; next < last; next += 2)
        frames.push(frame(1, 4, next, HEADERS), frame(3, 0, next, Buffer.from([0, 0, 0, 8])));
      socket.write(Buffer.concat([...frames, frame(6, 0, 0, PING)]));
    },
    /** Pings that were answered: what came before them was read. */
    answered(): number {
      let count = 0;
      for (let at = received.indexOf(answer); at >= 0; at = received.indexOf(answer, at + 1)) count += 1;
      return count;
    },
  };
}

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
