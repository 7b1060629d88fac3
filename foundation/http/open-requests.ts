import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one connection may have open: as many as calls of gRPC. */
const MOST_OPEN = 256;
/** Looks at which a client had not taken its answer before it is given up for the room that this takes. */
const LOOKS = 3;

/** Which clients are given up. */
interface SlowClientBounds {
  /** Milliseconds after which a client that takes nothing of its answer is given up; default a minute. */
  readonly afterMs?: number;
  /**
   * Bytes of answers that may wait for the clients of a server; default 128 MiB. Where there are more, the clients that
   * have let theirs wait for longest are given up, but none in its first seconds.
   */
  readonly mostWaiting?: number;
  /** Milliseconds between two looks at what waits; default a second. */
  readonly everyMs?: number;
}

const openOn = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Counts a request of a connection until its answer is over. False where too many are open, of which the connection is
 * broken: Node parses at once all that a client has sent, and thousands of requests fit into one packet, of which each
 * takes some KiB before the first is answered.
 */
export function mayServe(socket: Socket, response: ServerResponse): boolean {
  const open = openOn.get(socket) ?? new Set();
  if (open.size >= MOST_OPEN) socket.destroy();
  if (socket.destroyed) return false;
  openOn.set(socket, open.add(response));
  response.once('close', () => open.delete(response));
  return true;
}

/** Bytes of answers, those that wait for their turn included, that a client has not taken. */
function untakenBy(socket: Socket): number {
  let bytes = 0;
  for (const { writableLength } of openOn.get(socket) ?? []) bytes += writableLength;
  return bytes;
}

/**
 * Gives up clients that take nothing of their answers: what an answer is made of, memory or a connection to the object
 * store for example, is others' as well. A client may wait for its answer, and for the next part of it, for as long as
 * it takes. Only for a server that asks `mayServe`.
 */
export function giveUpSlowClients(
  server: Server,
  { afterMs = 60_000, mostWaiting = 128 * 1024 * 1024, everyMs = 1_000 }: SlowClientBounds = {},
): void {
  server.setTimeout(afterMs, (socket) => {
    // Node closes connections whose time between two requests is over by itself only where nobody listens.
    if (socket.writableLength > 0 || openOn.get(socket)?.size === 0) socket.destroy();
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  /** At how many looks clients had something to take; who has waited longest is first. */
  let waiting = new Map<Socket, number>();
  const looking = setInterval(() => {
    const looks = new Map([...waiting].filter(([socket]) => untakenBy(socket) > 0));
    let bytes = 0;
    for (const socket of sockets) {
      const untaken = untakenBy(socket);
      if (untaken > 0) looks.set(socket, (looks.get(socket) ?? 0) + 1);
      bytes += untaken;
    }
    waiting = looks;
    for (const [socket, times] of waiting) {
      if (bytes <= mostWaiting) return;
      if (times < LOOKS) continue;
      bytes -= untakenBy(socket);
      socket.destroy();
    }
  }, everyMs).unref();
  server.once('close', () => clearInterval(looking));
}
