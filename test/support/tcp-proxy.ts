import { once } from 'node:events';
import net from 'node:net';
import type { ExecutionContext } from 'ava';

/** A way to a server that a test can cut. */
export interface TcpProxy {
  readonly port: number;
  /** Breaks all connections and takes no new ones. */
  cut(): Promise<void>;
  /** Keeps connections and takes new ones, but lets nothing through any more. */
  silence(): void;
  /** As `silence` for the connections that there are, for good; new ones go through. */
  abandon(): void;
  /** Everything goes through again, on new connections. */
  restore(): Promise<void>;
}

/** Starts a proxy to a port of the loopback interface; it ends with the test. */
export async function startTcpProxy(t: ExecutionContext, target: number): Promise<TcpProxy> {
  const sockets = new Set<net.Socket>();
  let isSilent = false;
  /** What the connections that are made now share. */
  let generation = { isOver: false };
  const keep = (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  const server = net.createServer((client) => {
    keep(client);
    if (isSilent) return;
    const own = generation;
    const passes = () => !isSilent && !own.isOver;
    const upstream = net.connect({ host: '127.0.0.1', port: target });
    keep(upstream);
    client.on('data', (bytes) => passes() && upstream.write(bytes));
    upstream.on('data', (bytes) => passes() && client.write(bytes));
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  await listen(0);
  const { port } = server.address() as net.AddressInfo;
  t.teardown(close);
  return {
    port,
    cut: close,
    silence: () => {
      isSilent = true;
    },
    abandon: () => {
      generation.isOver = true;
      generation = { isOver: false };
    },
    restore: async () => {
      isSilent = false;
      await close();
      await listen(port);
    },
  };
}
