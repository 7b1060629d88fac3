import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import { DeadlineError, within } from '../../base/deadline.ts';
import type { Pauses } from '../../base/pauses.ts';
import type { Mutex, Release } from '../../base/semaphore.ts';
import { DatabaseErrors } from '../errors.ts';
import type { TransactionGuard } from '../transaction-guard.ts';
import { type DiskWatch, diskFailure } from './disk-failures.ts';
import { Lending } from './lending.ts';
import { whenFree } from './sqlite-waiting.ts';
import { asUnavailable } from './unavailable.ts';
import { assertStorable } from './values.ts';

/** Milliseconds between two times that all connections are made anew since a server is read-only. */
const RENEWAL_MS = 5_000;

/** What is added to a family's own Kysely driver. */
export interface Supervision {
  readonly guard: TransactionGuard;
  /** Learns which writes the disk took. */
  readonly disk?: DiskWatch;
  /** True where the database has ended the open transaction by itself: SQLite does on a full disk. */
  readonly hasEnded?: () => boolean;
  /** Where one user at a time has the connection (SQLite); see `createTurn`. */
  readonly turn?: Pick<Mutex, 'acquire'>;
  /** Where statements answer within the turn (SQLite): many of them would keep everything else waiting. */
  readonly pauses?: Pauses;
  /** Milliseconds after which waiting for a connection of the pool ends, where the pool has no such limit. */
  readonly poolTimeoutMs?: number;
  /** Replaces `begin` where a transaction may write. */
  readonly begin?: string;
  /** Milliseconds during which a statement that finds the file locked by another process is tried again (SQLite). */
  readonly busyTimeoutMs?: number;
  /**
   * Milliseconds after which a statement without an answer loses its connection, where the driver has no such limit.
   */
  readonly answerTimeoutMs?: number;
  /**
   * Ends a connection that the pool must not keep, where `killSession` of the driver cannot without asking the server.
   */
  readonly endConnection?: (inner: DatabaseConnection) => Promise<unknown>;
}

/** The dialect with every operation of its driver under supervision; SQL and results are untouched. */
export function supervise(dialect: Dialect, supervision: Supervision): Dialect {
  return {
    createDriver: () => new SupervisedDriver(dialect.createDriver(), supervision),
    createAdapter: () => {
      const adapter = dialect.createAdapter();
      // Kysely's own lock around a single connection has no deadline and cannot be looked at; the mutex here has one.
      return supervision.turn !== undefined
        ? Object.create(adapter, { supportsMultipleConnections: { value: true } })
        : adapter;
    },
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
}

class SupervisedDriver implements Driver {
  readonly #driver: Driver;
  readonly #supervision: Supervision;
  readonly #lending = new Lending();
  readonly #connections = new WeakMap<DatabaseConnection, SupervisedConnection>();
  /** When a server last said that it is read-only. */
  #demotedAt = Number.NEGATIVE_INFINITY;

  constructor(driver: Driver, supervision: Supervision) {
    this.#driver = driver;
    this.#supervision = supervision;
  }

  init(): Promise<void> {
    return this.#driver.init();
  }

  acquireConnection(): Promise<SupervisedConnection> {
    const { guard, turn } = this.#supervision;
    guard.assertNoTransaction();
    return this.#operation(async () => {
      const release = await turn?.acquire();
      try {
        const connection = await this.#lending.lend(() => this.#current());
        connection.isReleased = false;
        connection.release = release;
        return connection;
      } catch (error) {
        release?.();
        throw error;
      }
    });
  }

  beginTransaction(connection: SupervisedConnection, settings: TransactionSettings): Promise<void> {
    const { begin } = this.#supervision;
    const begun =
      begin !== undefined && settings.accessMode !== 'read only'
        ? connection.executeQuery(CompiledQuery.raw(begin)).then(() => {})
        : this.#asked(connection, () => this.#driver.beginTransaction(connection.inner, settings));
    return begun.then(
      () => connection.begun(),
      (error) => this.#letGo(connection, error),
    );
  }

  async commitTransaction(connection: SupervisedConnection): Promise<void> {
    connection.assertNotEnded();
    await this.#asked(connection, () => this.#driver.commitTransaction(connection.inner));
    connection.committed();
  }

  async rollbackTransaction(connection: SupervisedConnection): Promise<void> {
    const isOver = connection.hasEnded;
    connection.isInTransaction = false;
    // What has ended the transaction is the error that its user gets: a rollback would fail, and hide it.
    if (isOver) return;
    await this.#asked(connection, () => this.#driver.rollbackTransaction(connection.inner)).catch((error) =>
      this.#letGo(connection, error),
    );
  }

  readonly savepoint = this.#savepointing('savepoint');
  readonly rollbackToSavepoint = this.#savepointing('rollbackToSavepoint');
  readonly releaseSavepoint = this.#savepointing('releaseSavepoint');

  async releaseConnection(connection: SupervisedConnection): Promise<void> {
    if (connection.isReleased) return;
    connection.isReleased = true;
    connection.isInTransaction = false;
    try {
      if (connection.isReadOnly) this.#demoted();
      if (connection.isReadOnly || connection.since < this.#demotedAt) await this.#end(connection);
      await this.#driver.releaseConnection(connection.inner);
    } finally {
      connection.release?.();
      this.#lending.cameBack();
    }
  }

  destroy(): Promise<void> {
    return this.#driver.destroy();
  }

  /**
   * A connection that was made after the last demotion. Those from before lead to the same server, where reads would go
   * on, and give what was there before the failover, until each connection has had a write refused.
   */
  async #current(): Promise<SupervisedConnection> {
    while (true) {
      const connection = this.#supervised(await this.#acquire());
      if (connection.since >= this.#demotedAt) return connection;
      try {
        await this.#end(connection);
      } finally {
        // Else a connection that is broken already would be missing in the pool for ever.
        await this.#driver.releaseConnection(connection.inner);
      }
    }
  }

  /** What stays read-only says so with each write: not each time are all others made anew. */
  #demoted(): void {
    const now = performance.now();
    if (now - this.#demotedAt > RENEWAL_MS) this.#demotedAt = now;
  }

  /** The pool replaces it, but for SQLite's, which stays. */
  async #end(connection: SupervisedConnection): Promise<void> {
    connection.since = performance.now();
    await (this.#supervision.endConnection ?? closeSocket)(connection.inner);
  }

  /**
   * Gives back the connection of a transaction that could not begin, or not be rolled back. Kysely's controlled
   * transactions give theirs back only after a commit or a rollback that succeeds: each connection that breaks inside
   * one would be missing in the pool for ever.
   */
  async #letGo(connection: SupervisedConnection, error: unknown): Promise<never> {
    await this.releaseConnection(connection);
    throw error;
  }

  #savepointing(verb: 'savepoint' | 'rollbackToSavepoint' | 'releaseSavepoint') {
    return async (connection: SupervisedConnection, name: string, compile: QueryCompiler['compileQuery']) => {
      // Its savepoints have gone with the transaction.
      if (verb === 'rollbackToSavepoint' && connection.hasEnded) return;
      connection.assertNotEnded();
      await this.#asked(connection, async () => this.#driver[verb]?.(connection.inner, name, compile));
    };
  }

  #operation<T>(run: () => Promise<T>): Promise<T> {
    return operate(this.#supervision, run);
  }

  /** An operation that is a statement too: a server that went silent does not answer it either. */
  #asked<T>(connection: SupervisedConnection, run: () => Promise<T>): Promise<T> {
    return this.#operation(() => connection.inTime(run));
  }

  /** A connection of the pool, or `database.unavailable`; one that arrives too late goes back to the pool. */
  async #acquire(): Promise<DatabaseConnection> {
    const { poolTimeoutMs } = this.#supervision;
    const arriving = this.#driver.acquireConnection();
    if (poolTimeoutMs === undefined) return arriving;
    try {
      return await within(poolTimeoutMs, 'getting a database connection', arriving);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      arriving.then(
        (late) => this.#driver.releaseConnection(late),
        () => {},
      );
      throw DatabaseErrors.unavailable('No database connection became free in time');
    }
  }

  #supervised(inner: DatabaseConnection): SupervisedConnection {
    let connection = this.#connections.get(inner);
    if (connection === undefined) {
      connection = new SupervisedConnection(inner, this.#supervision);
      this.#connections.set(inner, connection);
    }
    return connection;
  }
}

class SupervisedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection;
  /** When it was made. */
  since = performance.now();
  /** True while no user has it. */
  isReleased = false;
  /** Ends the turn of its user. */
  release: Release | undefined;
  isInTransaction = false;
  /**
   * Its server was demoted, or is a standby that the name still led to. Such a server keeps the connections, and the
   * pool would keep them as long as they are used: the next may lead to another server.
   */
  isReadOnly = false;
  #hasWritten = false;
  readonly #supervision: Supervision;

  constructor(inner: DatabaseConnection, supervision: Supervision) {
    this.inner = inner;
    this.#supervision = supervision;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { busyTimeoutMs } = this.#supervision;
    return this.#operation(async () => {
      assertStorable(query.parameters);
      this.assertNotEnded();
      const answer = await (busyTimeoutMs === undefined
        ? this.inTime(() => this.inner.executeQuery<R>(query))
        : whenFree(() => this.inner.executeQuery<R>(query), busyTimeoutMs));
      if ((answer.numAffectedRows ?? 0n) > 0n) this.#wrote();
      return answer;
    });
  }

  begun(): void {
    this.isInTransaction = true;
    this.#hasWritten = false;
  }

  committed(): void {
    this.isInTransaction = false;
    if (this.#hasWritten) this.#supervision.disk?.stored();
  }

  /** Whether the database has ended the transaction of this connection by itself. */
  get hasEnded(): boolean {
    return this.isInTransaction && this.#supervision.hasEnded?.() === true;
  }

  /** What follows in a transaction that has ended would be stored at once, and the part before it is undone. */
  assertNotEnded(): void {
    if (this.hasEnded) throw DatabaseErrors.unavailable('The database has undone the transaction');
  }

  /** Only what is committed is on the disk. */
  #wrote(): void {
    if (this.isInTransaction) this.#hasWritten = true;
    else this.#supervision.disk?.stored();
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    const rows = this.inner.streamQuery<R>(query, chunkSize);
    try {
      while (true) {
        const next = await this.#operation(() => rows.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await rows.return?.();
    }
  }

  #operation<T>(run: () => Promise<T>): Promise<T> {
    return operate(this.#supervision, run, this);
  }

  /** A server that went silent keeps the connection; the caller gets an error and the pool a free place. */
  async inTime<T>(run: () => Promise<T>): Promise<T> {
    const { answerTimeoutMs } = this.#supervision;
    if (answerTimeoutMs === undefined) return run();
    try {
      return await within(answerTimeoutMs, 'a statement', run());
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      void closeSocket(this.inner);
      throw DatabaseErrors.unavailable('The database did not answer in time');
    }
  }
}

/** Without asking the server, where the driver can (MySQL). */
const closeSocket = async (inner: DatabaseConnection) =>
  void inner.killSession?.(async () => {}).catch(() => {});

/** Runs an operation of a driver under the guard. @throws database.unavailable for what `asUnavailable` names */
function operate<T>(parts: Supervision, run: () => Promise<T>, on?: SupervisedConnection): Promise<T> {
  const paused = () => parts.pauses?.()?.then(run) ?? run();
  return parts.guard.operation(paused).catch((error) => {
    parts.disk?.failed(error);
    if (on !== undefined && diskFailure(error) === 'read-only') on.isReadOnly = true;
    return asUnavailable(error);
  });
}
