import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one connection may have open: as many as calls of gRPC. */
const MOST_OPEN = 256;
/** Looks in a row at which an answer was not taken before its client may be given up for the room that it takes. */
const LOOKS = 3;

/** Which clients are given up. */
interface SlowClientBounds {
  /**
   * Milliseconds after which a client that takes nothing of its answer is given up; default a minute. Up to twice as
   * long where a part of what was written last has gone: Node takes that for a sign of life when the time is over.
   */
  readonly afterMs?: number;
  /**
   * Bytes of answers that may wait for the clients of a server; default 128 MiB. Where there are more, the clients for
   * which most wait are given up, but none in its first seconds.
   */
  readonly mostWaiting?: number;
  /** Milliseconds between two looks at what waits; default a second. */
  readonly everyMs?: number;
}

/** An answer that has not ended. */
interface OpenAnswer {
  readonly response: Parameters<RequestListener>[1];
  /** It waits for its turn. */
  isHeld: boolean;
  /** Its request came when it could not begin, and has had no more time for that yet. */
  isDelayed: boolean;
  /** In a row, at which something of it was not taken. */
  looks: number;
}

/** Emitted on a request that begins to be served. */
const BEGUN = Symbol('begun');

/** Those of each connection that had one, the oldest first. */
const openOn = new WeakMap<Socket, OpenAnswer[]>();

/** The answers of a connection that have not ended. */
export function answersOn(socket: Socket): readonly ServerResponse[] {
  return (openOn.get(socket) ?? []).map(({ response }) => response);
}

/** Has a connection end with the last of the answers that are open: what its client has sent is answered before. */
export function endWithLast(socket: Socket): void {
  const last = openOn.get(socket)?.at(-1);
  if (last !== undefined) last.response.shouldKeepAlive = false;
}

/**
 * Lets `serve` answer the requests of a connection one after the other, in which order their answers go out anyway: of
 * those that a client sends in one go a later one might rely on an earlier one, and together their answers might take
 * more room than all other clients. Where too many wait, the connection is broken: Node parses at once all that came,
 * and thousands of requests fit into one packet, of which each takes some KiB before the first is answered.
 */
export function inTurn(serve: RequestListener): RequestListener {
  const begin = (open: readonly OpenAnswer[]) => {
    const first = open[0];
    if (!first?.isHeld) return;
    first.isHeld = false;
    const { response } = first;
    if (first.isDelayed) response.req.emit(BEGUN);
    serve(response.req, response);
  };
  return ({ socket }, response) => {
    const known = openOn.get(socket);
    const open = known ?? [];
    if (open.length >= MOST_OPEN) socket.destroy();
    // Behind an answer that closes the connection nothing is served (RFC 9112, 9.6), nor where no answer can be sent.
    if (!socket.writable) return;
    if (known === undefined) openOn.set(socket, open);
    const answer: OpenAnswer = { response, isHeld: true, isDelayed: open.length > 0, looks: 0 };
    open.push(answer);
    response.once('close', () => {
      open.splice(open.indexOf(answer), 1);
      if (socket.writable) begin(open);
    });
    begin(open);
  };
}

/**
 * Gives a request that has not come to its end in time as much again, once, if it had to wait for its turn: until then
 * nobody reads it, so that its client cannot send a long one. The time begins with its turn; `overdue` is called when
 * it is over. False where the request began at once, or had that time.
 */
export function giveMoreTime(response: ServerResponse, overdue: () => void): boolean {
  const { req } = response;
  const answer = openOn.get(req.socket)?.find((open) => open.response === response);
  if (!answer?.isDelayed) return false;
  const begin = () => {
    answer.isDelayed = false;
    const { requestTimeout } = (req.socket as Socket & { readonly server: Server }).server;
    const timer = setTimeout(() => {
      if (!req.complete) overdue();
    }, requestTimeout).unref();
    req.once('close', () => clearTimeout(timer));
  };
  if (answer.isHeld) req.once(BEGUN, begin);
  else begin();
  return true;
}

/**
 * Looks at what a client has not taken of its answer: how many bytes, and whether it has waited for so many looks. A
 * connection that is always busy with other answers has none that has.
 */
function lookAt(socket: Socket) {
  const answer = openOn.get(socket)?.[0];
  if (answer === undefined) return { socket, bytes: 0, isSlow: false };
  const bytes = answer.response.writableLength;
  answer.looks = bytes > 0 ? answer.looks + 1 : 0;
  return { socket, bytes, isSlow: answer.looks >= LOOKS };
}

/**
 * Gives up clients that take nothing of their answers: what an answer is made of, memory or a connection to the object
 * store for example, is others' as well. A client may wait for its answer, and for the next part of it, for as long as
 * it takes. Only for a server whose listener is `inTurn`.
 *
 * @param sockets those of `connectionsOf`
 */
export function giveUpSlowClients(
  server: Server,
  sockets: Iterable<Socket>,
  { afterMs = 60_000, mostWaiting = 128 * 1024 * 1024, everyMs = 1_000 }: SlowClientBounds = {},
): void {
  server.setTimeout(afterMs, (socket) => {
    // Node closes connections whose time between two requests is over by itself only where nobody listens.
    if (socket.writableLength > 0 || openOn.get(socket)?.length === 0) socket.destroy();
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
