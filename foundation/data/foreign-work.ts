import { createHook } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';

/** Something outside the database that code started. */
export interface ForeignWork {
  /** For a sentence: `a timer`, `GET https://example.com/path`. */
  readonly what: string;
  /** ` (at file:line)` of the code that started it, or empty. */
  readonly where: string;
  /** True when `what` names the very request rather than a kind of resource. */
  readonly exact: boolean;
}

/** Resource types of Node's async_hooks that can keep a promise waiting, in words. All others are bookkeeping. */
const KINDS: Readonly<Record<string, string>> = {
  Timeout: 'a timer',
  Immediate: 'setImmediate',
  FSREQCALLBACK: 'the file system',
  FSREQPROMISE: 'the file system',
  FILEHANDLE: 'the file system',
  FILEHANDLECLOSEREQ: 'the file system',
  STATWATCHER: 'the file system',
  GETADDRINFOREQWRAP: 'a DNS lookup',
  GETNAMEINFOREQWRAP: 'a DNS lookup',
  QUERYWRAP: 'a DNS lookup',
  TCPWRAP: 'a network connection',
  TCPCONNECTWRAP: 'a network connection',
  TLSWRAP: 'a network connection',
  PIPECONNECTWRAP: 'a local socket',
  PIPEWRAP: 'a pipe',
  WRITEWRAP: 'a socket',
  UDPSENDWRAP: 'a datagram',
  PROCESSWRAP: 'a child process',
  WORKER: 'a worker thread',
  MESSAGEPORT: 'another thread',
  ZLIB: 'compression',
  SCRYPTREQUEST: 'a password hash',
  PBKDF2REQUEST: 'a password hash',
};

/** Those that are the work itself, not a resource that the work uses. */
const EXACT = new Set(['PROCESSWRAP', 'WORKER']);

let observing = false;

/**
 * Reports every start of foreign work for which `isWatched` holds, in the asynchronous context that starts it. Costs a hook
 * on every asynchronous resource: for tests. It stays on for the life of the process; calling again changes nothing.
 */
export function observeForeignWork(isWatched: () => boolean, report: (work: ForeignWork) => void): void {
  if (observing) return;
  observing = true;
  createHook({
    init(_id, type) {
      const what = KINDS[type];
      if (what !== undefined && isWatched()) report({ what, where: place(), exact: EXACT.has(type) });
    },
  }).enable();
  // A request on a connection that is already open creates no new resource, and a URL says more than "a socket".
  diagnostics.subscribe('undici:request:create', (message) => {
    if (!isWatched()) return;
    const { request } = message as { request: { method: string; origin: unknown; path: string } };
    report({
      what: `${request.method} ${request.origin}${withoutQuery(request.path)}`,
      where: place(),
      exact: true,
    });
  });
  diagnostics.subscribe('http.client.request.start', (message) => {
    if (!isWatched()) return;
    const { request } = message as { request: { method: string; host: string; path: string } };
    report({
      what: `${request.method} ${request.host}${withoutQuery(request.path)}`,
      where: place(),
      exact: true,
    });
  });
}

/** Queries carry secrets (signatures, tokens) too often for an error message. */
const withoutQuery = (path: string) => path.replace(/\?.*$/s, '');

/** Frames to look through: clients put many of their own above the caller's. */
const DEEP_STACK = 60;

/** The first frame outside Node, this folder and installed packages. */
function place(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = DEEP_STACK;
  const stack = new Error().stack ?? '';
  Error.stackTraceLimit = limit;
  const frame = stack
    .split('\n')
    .slice(1)
    .find((line) => !/node:|node_modules|foundation\/data\/(foreign-work|transaction-guard)\.ts/.test(line));
  const position = frame?.match(/\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/)?.[1];
  return position === undefined ? '' : ` (at ${position})`;
}
