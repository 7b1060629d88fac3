import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { KernelErrors } from '../base/error-catalogue.ts';
import type { GatewayError } from '../base/gateway-error.ts';
import type { Ids } from '../base/ids.ts';
import { throttledLog } from '../base/throttle.ts';
import { renderError } from '../errors/render.ts';
import type { CallSeries } from '../observability/call-series.ts';
import type { Logger } from '../observability/logger.ts';
import { isAnswered, linger, REFUSED } from './early-answers.ts';
import { STATUS_CODES } from './node-http.ts';
import { answersOn, giveMoreTime } from './open-requests.ts';

/** The code of Node's error for a request that did not come to its end in time. */
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** What answers for requests that never reach the chain. */
export interface RefusalParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly http: CallSeries;
  readonly log: Logger;
}

/** Handles `clientError`: `open` are the answers of the connection that have not ended, oldest first. */
export type RefuseConnection = (cause: unknown, socket: Socket, open: readonly ServerResponse[]) => void;

/**
 * Answers what the HTTP parser refuses, and requests that do not come to their end in time. Such a request has a
 * status, a problem document, a request id, its place in the metrics (path `unmatched`) and a log line once a minute,
 * but neither an identity nor a path: it is not audited.
 */
export function createRefuseConnection({ clock, ids, http, log }: RefusalParts): RefuseConnection {
  const logRefusal = throttledLog<object>(clock, (fields, count) =>
    log.info({ ...fields, count }, 'requests that are not well-formed HTTP were refused'),
  );
  const refused = new WeakSet<Socket>();
  const answer = (socket: Socket, error: GatewayError, requestId: string = ids.uuid()) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const { status, headers, contentType, body } = renderError(error, 'problem', requestId);
    const text = JSON.stringify(body);
    const fields = {
      ...headers,
      'X-Request-ID': requestId,
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(text),
      Connection: 'close',
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
    linger(socket);
    http.began();
    http.ended({ method: '', path: 'unmatched', status, tenantId: undefined, seconds: 0 });
    logRefusal({ status, code: error.code, detail: error.detail, source: socket.remoteAddress, requestId });
  };
  return function refuseConnection(cause, socket, open) {
    const { code } = cause as NodeJS.ErrnoException;
    const error = errorOf(code);
    // A connection that was opened in advance, and never used, is closed without a word.
    if (error === undefined || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    // More bytes of a refused request are refused again.
    if (refused.has(socket)) return;
    if (isAnswered(socket)) {
      if (open.length === 0) socket.destroy();
      return;
    }
    const last = open.at(-1);
    const again = () => refuseConnection(cause, socket, answersOn(socket));
    if (last?.req.complete === false && code === TIMED_OUT && giveMoreTime(last, again)) return;
    refused.add(socket);
    if (last === undefined) {
      answer(socket, error);
    } else if (last.req.complete) {
      // It came behind requests that are still being answered, and gets its answer behind theirs.
      last.once('close', () => answer(socket, error));
    } else if (code === 'HPE_INVALID_EOF_STATE' || last.headersSent || open.length > 1) {
      socket.destroy();
    } else {
      last.shouldKeepAlive = false;
      const requestId = last.getHeader('x-request-id') as string | undefined;
      if (!last.req.emit(REFUSED, error)) answer(socket, error, requestId);
    }
  };
}

/** `undefined` for a broken connection, on which nothing can be said. */
function errorOf(code: string | undefined): GatewayError | undefined {
  if (code === TIMED_OUT) return KernelErrors.requestTimeout();
  if (code === 'HPE_HEADER_OVERFLOW') return KernelErrors.headersTooLarge();
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return KernelErrors.bodyTooLarge('The extensions of a chunk are too large');
  }
  if (code === undefined || !code.startsWith('HPE_')) return undefined;
  const why = code.slice('HPE_'.length).toLowerCase().replaceAll('_', ' ');
  return KernelErrors.malformedRequest(`The request is not well-formed HTTP: ${why}`);
}

/** What the headers alone forbid, whatever the path leads to. */
export function refusalOf({
  httpVersion,
  method,
  url = '',
  headers,
  rawHeaders,
}: IncomingMessage): GatewayError | undefined {
  if (method === 'CONNECT') {
    return KernelErrors.methodNotAllowed('The gateway is not a proxy', { headers: { allow: METHODS } });
  }
  if (!url.startsWith('/') && url !== '*') {
    return KernelErrors.malformedRequest('The target of the request is neither a path nor an http URL');
  }
  if (httpVersion !== '1.1') return undefined;
  // Node shows the first, and a proxy may have gone by another (RFC 9112, 3.2).
  if (hosts(rawHeaders) !== 1) {
    return KernelErrors.malformedRequest('A request of HTTP/1.1 needs the header Host, once');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== CONTINUE) {
    return KernelErrors.expectationFailed(`Of the header Expect only ${CONTINUE} is understood`);
  }
  return undefined;
}

function hosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
const CONTINUE = '100-continue';
