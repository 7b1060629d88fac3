import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ServerResponse } from './node-http.ts';

/** Bytes of an unread body that are read for the sake of the connection; a longer one ends it. */
const DRAINED = 64 * 1024;
/**
 * What is still read of a connection after its last answer. It is twice the largest body that a bundled route takes
 * where nothing else is set: a file.
 */
const LINGER_BYTES = 64 * 1024 * 1024;
/** Milliseconds of that: without a byte, and in all. */
const LINGER_IDLE = 2_000;
const LINGER_TIME = 5_000;

/**
 * A response that may come before its request was read. The client is then still sending, and to close on it would
 * reset the connection, which takes the answer away before it was read. So the connection lingers instead (RFC 9112,
 * 9.6).
 */
export class GatewayResponse extends ServerResponse {
  override writeHead(...head: unknown[]): this {
    if (!this.req.complete) prepareEarlyAnswer(this);
    return super.writeHead(...(head as [number]));
  }
}

function prepareEarlyAnswer(response: ServerResponse): void {
  const { req, socket } = response;
  const unread = declaredLength(req);
  if (unread === 0 || socket === null) return;
  if (unread > DRAINED) response.shouldKeepAlive = false;
  const isPrepared = early.has(socket);
  early.set(socket, req);
  if (isPrepared) return;
  const { destroySoon } = socket;
  // Node calls it when the last answer of a connection has left, however that was decided: by us, by the client, or by
  // HTTP/1.0.
  socket.destroySoon = () => {
    if (early.get(socket)!.complete) destroySoon.call(socket);
    else linger(socket);
  };
}

/** Bytes of body that the headers promise; of a chunked body that is infinity. */
export function declaredLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/** The last request of a connection that was answered before it was read. */
const early = new WeakMap<Socket, IncomingMessage>();
const lingering = new WeakSet<Socket>();

/** True while the rest of a request that was answered already is read and thrown away. */
export function isAnswered(socket: Socket): boolean {
  return lingering.has(socket) || early.get(socket)?.complete === false;
}

/**
 * Ends our side of a connection, reads and throws away what the client is still sending, and destroys it when the
 * client has ended its side, or has had its time or its bytes.
 */
export function linger(socket: Socket): void {
  if (lingering.has(socket) || socket.destroyed) return;
  lingering.add(socket);
  const end = () => socket.destroy();
  const timer = setTimeout(end, LINGER_TIME);
  socket.once('close', () => clearTimeout(timer));
  socket.setTimeout(LINGER_IDLE, end);
  const most = socket.bytesRead + LINGER_BYTES;
  socket.end();
  // Taken from the parser, so that no further request of this connection is served.
  const takeOver = () => {
    socket.removeAllListeners('data');
    socket.on('data', () => {
      if (socket.bytesRead > most) end();
    });
  };
  // A body that is not read has paused the socket, and only the parser's own listeners make it go on.
  if (socket.isPaused()) socket.once('resume', takeOver);
  else takeOver();
  socket.resume();
}

/** Emitted on a request, with the error, when the rest of it is refused: a reader of its body ends with that error. */
export const REFUSED = Symbol('refused');

/** Whether the client sends its body only when it is asked for it (RFC 9110, 10.1.1). */
export function awaitsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}
