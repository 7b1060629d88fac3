import { AsyncLocalStorage } from 'node:async_hooks';
import { DatabaseDefect } from './errors.ts';
import { type ForeignWork, observeForeignWork } from './foreign-work.ts';

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
 * Throws when called inside a transaction. Everything that waits for the outside world (HTTP, queues, Redis, objects, child
 * processes) calls it first: SQLite has one writer, and a model call inside a transaction would stop the gateway.
 *
 * @param what names the work for the message: `the model call`, `egress to example.com`
 */
export function assertOutsideTransaction(what: string): void {
  if (scopes.getStore()?.open === true) throw foreignWork(what);
}

/**
 * Keeps transactions short. Always: a second connection inside a transaction's callback is refused, because on SQLite it
 * would wait for itself forever. With `watch`: a callback that waits for anything but the database rejects its transaction,
 * with the name and the place of what it waited for.
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
  async operation<T>(run: () => Promise<T>): Promise<T> {
    const scope = this.#watch ? scopes.getStore() : undefined;
    if (scope === undefined) return run();
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
 * Between two database operations only microtasks may run. setImmediate fires after all of them: when nothing has moved by
 * then, the callback is waiting for something else. What it merely started (a log line, a metric) does not count.
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
