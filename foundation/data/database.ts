import type { Database, DatabaseOptions, Registration } from './database-port.ts';
import type { Connect } from './drivers/driver.ts';
import { SqlDatabase } from './sql-database.ts';
import { cannotOpen } from './start-failures.ts';

export type { AggregateQuery, AggregateRow } from './built-statements.ts';
export type { ColumnTypes } from './columns.ts';
export { column } from './columns.ts';
export type { Database, DatabaseOptions, Registration } from './database-port.ts';
export { isDatabaseFull } from './drivers/disk-failures.ts';
export { DatabaseDefect, DatabaseErrors, isDatabaseUnavailable, isUniqueViolation } from './errors.ts';
export type { Family } from './family.ts';
export type { Migration, MigrationSchema, MovedMigration } from './migration.ts';
export type { PlainCondition, PlainWhere } from './rows/conditions.ts';
export { type EachRowQuery, eachRow } from './rows/each-row.ts';
export { eraseExpired } from './rows/erase-expired.ts';
export { type RowWrite, writes } from './rows/row-writes.ts';
export type { RowsQuery } from './rows/statement.ts';
export type { OwnedData } from './schema/owned-data.ts';
export type { EntityRegistration, TenantData } from './tenancy.ts';
export type { TenantEntityManager } from './tenant-entity-manager.ts';
export type { TransactionOptions } from './tenant-rules.ts';
export type { TenantOwnedTable } from './tenant-tables.ts';
export { assertOutsideTransaction } from './transaction-guard.ts';

/**
 * Opens the database; only the chosen family's driver is loaded.
 *
 * @throws DatabaseStartError when it cannot be reached; the message shows the URL without its password
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return SqlDatabase.open(options, connect);
}

/**
 * Connects to the database of these options as a start would, and closes the connection. Makes neither role nor table;
 * a SQLite file that is missing is made.
 *
 * @param registrations what a start would register: that the database is not newer than one of them is looked at, too
 * @throws DatabaseStartError like `openDatabase` and `Database.register`
 */
export async function reachDatabase(
  options: DatabaseOptions,
  registrations: readonly Registration[] = [],
): Promise<void> {
  await SqlDatabase.reach(options, connect, registrations);
}

/** Loads no driver but the family's own. */
const connect: Connect = async (family, options) => {
  try {
    switch (family) {
      case 'sqlite':
        return await (await import('./drivers/sqlite.ts')).connectSqlite(options);
      case 'postgres':
        return await (await import('./drivers/postgres.ts')).connectPostgres(options);
      case 'mysql':
        return await (await import('./drivers/mysql.ts')).connectMySql(options);
    }
  } catch (cause) {
    throw cannotOpen(family, options, cause);
  }
};
