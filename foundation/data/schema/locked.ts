import type { Platform } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { DatabaseStartError } from '../errors.ts';
import type { Family } from '../family.ts';
import type { MigrationQueries } from '../migration.ts';

/** Milliseconds that a replica waits while another one migrates. */
const LOCK_TIMEOUT_MS = 120_000;
const PG_LOCK = 7_160_315_022;

/** What a run of migrations needs to know of the database. */
export interface MigrationTarget {
  readonly family: Family;
  readonly kysely: MigrationQueries;
  /** Lends a connection whose statements may take as long as they need. */
  patiently<T>(work: (queries: MigrationQueries) => Promise<T>): Promise<T>;
  readonly platform: Platform;
  /** Text after every `create table`. */
  readonly tableOptions: string | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Runs `work` while no other replica migrates; on SQLite and PostgreSQL in one transaction. */
export function locked<T>(
  target: MigrationTarget,
  work: (queries: MigrationQueries) => Promise<T>,
): Promise<T> {
  return target.patiently((queries) => {
    if (target.family === 'mysql') return withNamedLock(queries, work);
    return queries.transaction().execute(async (transaction) => {
      if (target.family === 'postgres') {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction);
        await sql`select pg_advisory_xact_lock(${sql.lit(PG_LOCK)})`.execute(transaction);
      }
      return work(transaction);
    });
  });
}

function withNamedLock<T>(
  queries: MigrationQueries,
  work: (queries: MigrationQueries) => Promise<T>,
): Promise<T> {
  return queries.connection().execute(async (connection) => {
    // Named locks belong to the server, not to the database.
    const name = sql`concat('migrate:', left(sha2(database(), 256), 32))`;
    const seconds = sql.lit(LOCK_TIMEOUT_MS / 1000);
    const { rows } = await sql<{ held: unknown }>`select get_lock(${name}, ${seconds}) as held`.execute(
      connection,
    );
    if (Number(rows[0]?.held) !== 1) {
      throw new DatabaseStartError('Another process has been migrating the database for too long');
    }
    try {
      return await work(connection);
    } finally {
      await sql`select release_lock(${name})`.execute(connection);
    }
  });
}

/** Runs changes of rows all or none, inside `locked`. */
export function together<T>(
  queries: MigrationQueries,
  work: (queries: MigrationQueries) => Promise<T>,
): Promise<T> {
  return queries.isTransaction ? work(queries) : queries.transaction().execute(work);
}
