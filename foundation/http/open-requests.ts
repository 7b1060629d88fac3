import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one connection may have open: as many as calls of gRPC. */
const MOST_OPEN = 256;
/** Looks in a row at which an answer was not taken before its client may be given up for the room that it takes. */
const LOOKS = 3;

/** Which clients are given up. */
interface SlowClientBounds {
  /** Milliseconds after which a client that takes nothing of its answer is given up; default a minute. */
  readonly afterMs?: number;
  /**
   * Bytes of answers that may wait for the clients of a server; default 128 MiB. Where there are more, the clients for
   * which most wait are given up, but none in its first seconds.
   */
  readonly mostWaiting?: number;
  /** Milliseconds between two looks at what waits; default a second. */
  readonly everyMs?: number;
}

/** The requests of each connection, with the looks in a row at which something of their answers was not taken. */
const openOn = new WeakMap<Socket, Map<ServerResponse, number>>();

/**
 * Counts a request of a connection until its answer is over. False where too many are open, of which the connection is
 * broken: Node parses at once all that a client has sent, and thousands of requests fit into one packet, of which each
 * takes some KiB before the first is answered.
 */
export function mayServe(socket: Socket, response: ServerResponse): boolean {
  const open = openOn.get(socket) ?? new Map<ServerResponse, number>();
  if (open.size >= MOST_OPEN) socket.destroy();
  if (socket.destroyed) return false;
  openOn.set(socket, open.set(response, 0));
  response.once('close', () => open.delete(response));
  return true;
}

/**
 * Looks at what a client has not taken of its answers, those that wait for their turn included: how many bytes, and
 * whether one of the answers has waited for so many looks. A connection that is always busy with other answers has no
 * such one.
 */
function lookAt(socket: Socket) {
  const open = openOn.get(socket) ?? new Map<ServerResponse, number>();
  let bytes = 0;
  let isSlow = false;
  for (const [response, looks] of open) {
    const waiting = response.writableLength;
    bytes += waiting;
    open.set(response, waiting > 0 ? looks + 1 : 0);
    isSlow ||= waiting > 0 && looks + 1 >= LOOKS;
  }
  return { socket, bytes, isSlow };
}

/**
 * Gives up clients that take nothing of their answers: what an answer is made of, memory or a connection to the object
 * store for example, is others' as well. A client may wait for its answer, and for the next part of it, for as long as
 * it takes. Only for a server that asks `mayServe`.
 *
 * @param sockets those of `connectionsOf`
 */
export function giveUpSlowClients(
  server: Server,
  sockets: ReadonlySet<Socket>,
  { afterMs = 60_000, mostWaiting = 128 * 1024 * 1024, everyMs = 1_000 }: SlowClientBounds = {},
): void {
  server.setTimeout(afterMs, (socket) => {
    // Node closes connections whose time between two requests is over by itself only where nobody listens.
    if (socket.writableLength > 0 || openOn.get(socket)?.size === 0) socket.destroy();
  });
  const looking = setInterval(() => {
    const clients = [...sockets].map(lookAt).filter((client) => client.bytes > 0);
    let bytes = clients.reduce((sum, client) => sum + client.bytes, 0);
    // A stream that is behind by a few lines may have been so for long, and would free nothing. Where there is too much
    // some client has more than its share.
    const share = mostWaiting / clients.length;
    const slow = clients.filter((client) => client.isSlow && client.bytes > share);
    for (const client of slow.sort((a, b) => b.bytes - a.bytes)) {
      if (bytes <= mostWaiting) return;
      bytes -= client.bytes;
      client.socket.destroy();
    }
  }, everyMs).unref();
  server.once('close', () => clearInterval(looking));
}
