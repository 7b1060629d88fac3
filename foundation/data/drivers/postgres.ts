import { MikroORM } from '@mikro-orm/postgresql';
import type { AbstractSqlConnection } from '@mikro-orm/sql';
import { CompiledQuery, type DatabaseConnection } from 'kysely';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectOptions,
  type FamilyDriver,
  LOCK_TIMEOUT_SECONDS,
  quoted,
  superviseOrm,
} from './driver.ts';
import { END_CONNECTION, JOIN_NEXT, joiningClient, type PgClientClass } from './joining-client.ts';

/** Milliseconds that the server lets an open transaction be idle before it ends the session. */
const IDLE_TRANSACTION_MS = 60_000;
/** Milliseconds beyond the server's own limit after which a silent server's connection is given up. */
const ANSWER_GRACE_MS = 5_000;

/** Connects to PostgreSQL. */
export async function connectPostgres(options: ConnectOptions): Promise<FamilyDriver> {
  const url = options.url ?? '';
  const orm = new MikroORM({
    ...options.orm,
    clientUrl: url,
    pool: { min: 0, max: options.maxConnections },
    onCreateConnection: (session) => settle(session as DatabaseConnection, options.statementTimeoutMs > 0),
    driverOptions: {
      // pg's own parser of the URL knows sslmode and the other parameters; MikroORM's does not.
      connectionString: url,
      application_name: 'agent-gateway',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: options.statementTimeoutMs,
      query_timeout: options.statementTimeoutMs > 0 ? options.statementTimeoutMs + ANSWER_GRACE_MS : 0,
      idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
      onPoolCreated: (pool: { Client: PgClientClass }) => {
        pool.Client = joiningClient(pool.Client);
      },
    },
  });
  const connection = orm.driver.getConnection();
  const supervision = {
    guard: options.guard,
    disk: options.disk,
    endConnection: (inner: DatabaseConnection) => inner.executeQuery(CompiledQuery.raw(END_CONNECTION)),
  };
  superviseOrm(orm, supervision, literal);
  saveRoundTrips(connection);
  await orm.connect();
  await connection.execute('select 1');
  return { orm, clockSql: 'extract(epoch from clock_timestamp()) * 1000' };
}

/**
 * Settings that must not be what the server, the database or the role says: times are read in one form, and
 * transactions fail for no reason but locks. As a statement, since poolers refuse start-up parameters that their own
 * configuration does not name.
 */
async function settle(session: DatabaseConnection, limitsLockWaits: boolean): Promise<void> {
  const limit = limitsLockWaits ? `; set lock_timeout = '${LOCK_TIMEOUT_SECONDS}s'` : '';
  const usual = `set datestyle = 'ISO'; set default_transaction_isolation = 'read committed'`;
  await session.executeQuery(CompiledQuery.raw(usual + limit));
}

interface SessionContext {
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly role?: string;
}

/**
 * Sets tenant and role without round trips of their own. MikroORM sends `begin`, `set_config`, `set local role`, the
 * statement and `commit` one after the other, for a single read too. Here:
 * - a transaction sends the first three together with its first statement;
 * - a statement outside a transaction is one message: `set local …; <statement>`. PostgreSQL runs such a
 *   message as one transaction, so the settings hold for the statement and end with it.
 */
function saveRoundTrips(connection: AbstractSqlConnection): void {
  const internals = connection as unknown as {
    applySessionContext(transaction: Statements, context: SessionContext): Promise<void>;
  };
  internals.applySessionContext = async (transaction, context) => {
    await transaction.executeQuery(CompiledQuery.raw(JOIN_NEXT + settingsSql(context)));
  };

  const { transactional } = connection;
  connection.transactional = (callback, options = {}) => {
    const { ctx, eventBroadcaster, sessionContext } = options;
    // MikroORM wraps single statements of an entity manager with a session context in a transaction of their own; only
    // real transactions (transactional, flush) announce themselves through a broadcaster.
    const single = ctx === undefined && eventBroadcaster === undefined && sessionContext !== undefined;
    if (!single) return transactional(callback, options);
    const statements: Statements = {
      executeQuery: (query) => connection.getClient().executeQuery(withSettings(query, sessionContext)),
    };
    return callback(statements as never);
  };
}

/**
 * The part of a Kysely transaction through which MikroORM runs its statements. Their parameters are in the text
 * already, but for those that are fused.
 */
interface Statements {
  executeQuery(query: CompiledQuery): Promise<unknown>;
}

/** A query that begins with the settings it is to run under. */
function withSettings({ sql, parameters }: CompiledQuery, context: SessionContext): CompiledQuery {
  return CompiledQuery.raw(`${settingsSql(context)}; ${sql}`, [...parameters]);
}

/**
 * Settings until the end of the transaction. Unlike `select set_config(…)` they are not planned, and there is no row to
 * answer with.
 */
function settingsSql({ variables = {}, role }: SessionContext): string {
  const settings = Object.entries({ ...variables, ...(role === undefined ? {} : { role }) });
  return settings
    .map(([name, value]) => `set local ${settingName(name)} =${literal(String(value))}`)
    .join('; ');
}

/** `svc.tenant_id` */
function settingName(name: string): string {
  if (!/^[a-z_]+(\.[a-z_]+)?$/.test(name)) throw new TypeError(`${name} is no name of a setting`);
  return name;
}

/** A string literal that means the same whatever `standard_conforming_strings` says. */
function literal(text: string): string {
  if (text.includes('\0')) throw new TypeError('PostgreSQL holds no text with a zero byte');
  return ` E${quoted(text)}`;
}
