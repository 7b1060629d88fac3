import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one connection may have open: as many as calls of gRPC. */
const MOST_OPEN = 256;
/** Milliseconds after which a client that takes nothing of its answer is given up. */
const SLOW_CLIENT = 60_000;

const openOn = new WeakMap<Socket, number>();

/**
 * Counts a request of a connection until its answer is over. False where too many are open, of which the connection is
 * broken: Node parses at once all that a client has sent, and thousands of requests fit into one packet, of which each
 * takes some KiB before the first is answered.
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
 * Gives up clients that take nothing of their answers: what an answer is made of, a connection to the object store for
 * example, is others' as well. A client may wait for its answer, and for the next part of it, for as long as it takes.
 * Only for a server that asks `mayServe`.
 */
export function giveUpSlowClients(server: Server, afterMs = SLOW_CLIENT): void {
  server.setTimeout(afterMs, (socket) => {
    // Node closes connections whose time between two requests is over by itself only where nobody listens.
    if (socket.writableLength > 0 || openOn.get(socket) === 0) socket.destroy();
  });
}
