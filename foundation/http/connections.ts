import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds between looks for connections that have become idle while a server closes. */
const IDLE_SWEEP = 25;
/** Requests that one connection may have open: as many as calls of gRPC. */
const MOST_OPEN = 256;
/** Milliseconds after which a client that takes nothing of its answer is given up. */
const SLOW_CLIENT = 60_000;

const openOn = new WeakMap<Socket, number>();

/**
 * Counts a request of a connection until its answer is over. False where too many are open, of which the connection is broken: Node parses at
 * once all that a client has sent, and thousands of requests fit into one packet, of which each takes some KiB before the first is answered.
 */
export function mayServe(socket: Socket, response: ServerResponse): boolean {
  const open = (openOn.get(socket) ?? 0) + 1;
  if (open > MOST_OPEN) socket.destroy();
  if (socket.destroyed) return false;
  openOn.set(socket, open);
  response.once('close', () => openOn.set(socket, openOn.get(socket)! - 1));
  return true;
}

/**
 * Gives up clients that take nothing of their answers: what an answer is made of, a connection to the object store for example, is others' as well. A client
 * may wait for its answer, and for the next part of it, for as long as it takes. Only for a server that asks `mayServe`.
 */
export function giveUpSlowClients(server: Server, afterMs = SLOW_CLIENT): void {
  server.setTimeout(afterMs, (socket) => {
    // Node closes connections whose time between two requests is over by itself only where nobody listens.
    if (socket.writableLength > 0 || openOn.get(socket) === 0) socket.destroy();
  });
}

/** The connections of a server that are open from now on, those included that Node no longer counts among its own. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Stops accepting; a connection that stays open between requests is closed at the end of the one it is serving. Resolves when all are closed.
 *
 * @param sockets those of `connectionsOf`
 */
export function closeGracefully(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const closeIdle = () => {
    server.closeIdleConnections();
    // Node takes a connection that was opened in advance for a request that is about to come.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  const sweep = setInterval(closeIdle, IDLE_SWEEP);
  server.close(() => {
    clearInterval(sweep);
    resolve();
  });
  closeIdle();
  return promise;
}
