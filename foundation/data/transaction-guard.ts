import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { DatabaseDefect } from './errors.ts';

/** A transaction whose callback is running in this asynchronous context. */
class TransactionScope {
  /** The database that it belongs to. */
  readonly owner: TransactionGuard;
  /** False once the callback is over: work that it left behind is no longer inside. */
  open = true;
  /** Database operations under way. */
  pending = 0;
  /** Changes with every start and end of a database operation. */
  turn = 0;
  /** The last thing outside the database that was started here, for the message. */
  foreign: (ForeignWork & { readonly turn: number }) | undefined;
  /** Rejects the transaction; set while it is watched. */
  reject: ((defect: DatabaseDefect) => void) | undefined;

  constructor(owner: TransactionGuard) {
    this.owner = owner;
  }
}

const scopes = new AsyncLocalStorage<TransactionScope | undefined>();

/**
 * Throws when called inside a transaction. Everything that waits for the outside world (HTTP, queues, Redis, objects,
 * child processes) calls it first: SQLite has one writer, and a model call inside a transaction would stop the gateway.
 *
 * @param what names the work for the message: `the model call`, `egress to example.com`
 */
export function assertOutsideTransaction(what: string): void {
  if (scopes.getStore()?.open === true) throw foreignWork(what);
}

/**
 * Keeps transactions short. Always: a second connection inside a transaction's callback is refused, because on SQLite
 * it would wait for itself forever. With `watch`: a callback that waits for anything but the database rejects its
 * transaction, with the name and the place of what it waited for.
 */
export class TransactionGuard {
  readonly #watch: boolean;

  /** @param watch look for foreign work (tests); without it the guard costs one context per transaction */
  constructor(watch: boolean) {
    this.#watch = watch;
    if (watch) observeForeignWork(() => scopes.getStore()?.open === true, note);
  }

  /** Runs the callback of a transaction that has begun. */
  async run<T>(callback: () => Promise<T>): Promise<T> {
    const scope = new TransactionScope(this);
    try {
      if (!this.#watch) return await scopes.run(scope, callback);
      return await new Promise<T>((resolve, reject) => {
        scope.reject = reject;
        scopes.run(scope, callback).then(resolve, reject);
        expectProgress(scope);
      });
    } finally {
      scope.open = false;
    }
  }

  /** Runs one operation of the database driver: its sockets, timers and pool are not foreign. */
  operation<T>(run: () => Promise<T>): Promise<T> {
    const scope = this.#watch ? scopes.getStore() : undefined;
    return scope === undefined ? run() : this.#counted(scope, run);
  }

  async #counted<T>(scope: TransactionScope, run: () => Promise<T>): Promise<T> {
    scope.pending += 1;
    scope.turn += 1;
    try {
      return await scopes.run(undefined, run);
    } finally {
      scope.pending -= 1;
      scope.turn += 1;
      if (scope.open) expectProgress(scope);
    }
  }

  /** Throws when a transaction of this database is open in this context: its entity manager is the one to use. */
  assertNoTransaction(): void {
    const scope = scopes.getStore();
    if (scope?.open !== true || scope.owner !== this) return;
    throw new DatabaseDefect(
      'second-connection',
      'A transaction is open here, and this would use a second connection, which waits forever on SQLite. Use the entity manager that the transaction was given.',
    );
  }
}

/** Remembers the latest foreign work; the resources under a request do not hide the request. */
function note(work: ForeignWork): void {
  const scope = scopes.getStore();
  if (scope === undefined) return;
  const { foreign, turn } = scope;
  if (foreign?.exact === true && !work.exact && foreign.turn === turn) return;
  scope.foreign = { ...work, turn };
}

/**
 * Between two database operations only microtasks may run. setImmediate fires after all of them: when nothing has moved
 * by then, the callback is waiting for something else. What it merely started (a log line, a metric) does not count.
 */
function expectProgress(scope: TransactionScope): void {
  const { turn } = scope;
  scopes.run(undefined, () =>
    setImmediate(() => {
      if (!scope.open || scope.pending > 0 || scope.turn !== turn) return;
      scope.open = false;
      const { foreign } = scope;
      scope.reject?.(
        foreign === undefined
          ? foreignWork('something that was started before it')
          : foreignWork(foreign.what, foreign.where),
      );
    }),
  );
}

function foreignWork(what: string, where = ''): DatabaseDefect {
  return new DatabaseDefect(
    'foreign-work',
    `A database transaction waited for ${what}${where}. Do it before or after the transaction: nothing but database work may happen inside.`,
  );
}

/** Something outside the database that code started. */
interface ForeignWork {
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
 * Reports every start of foreign work for which `isWatched` holds, in the asynchronous context that starts it. Costs a
 * hook on every asynchronous resource but promises: for tests. It stays on for the life of the process; calling again
 * changes nothing.
 */
function observeForeignWork(isWatched: () => boolean, report: (work: ForeignWork) => void): void {
  if (observing) return;
  observing = true;
  createHook({
    // A promise waits for something else, which has a type of its own.
    trackPromises: false,
    init(_id, type) {
      const what = KINDS[type];
      if (what !== undefined && isWatched()) report({ what, where: place(), exact: EXACT.has(type) });
    },
  }).enable();
  // A request on a connection that is already open creates no new resource, and a URL says more than "a socket".
  for (const channel of ['undici:request:create', 'http.client.request.start']) {
    diagnostics.subscribe(channel, (message) => {
      if (!isWatched()) return;
      const { method, origin, host, path } = (message as { request: Record<string, string> }).request;
      const what = `${method} ${origin ?? host}${withoutQuery(String(path))}`;
      report({ what, where: place(), exact: true });
    });
  }
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
    .find((line) => !/node:|node_modules|foundation\/data\/transaction-guard\.ts/.test(line));
  const position = frame?.match(/\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/)?.[1];
  return position === undefined ? '' : ` (at ${position})`;
}
