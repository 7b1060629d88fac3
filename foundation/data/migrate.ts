import type { Platform } from '@mikro-orm/core';
import { type Compilable, type Kysely, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { columnTypes } from './columns.ts';
import { DatabaseStartError } from './errors.ts';
import type { Family } from './family.ts';
import type { Migration, MigrationQueries, MigrationSchema, MovedMigration } from './migration.ts';
import { NOTES } from './tenant-tables.ts';

/** The journal: one row per migration and owner, with the number of its statements that are done. */
export const JOURNAL = 'schema_migrations';
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

/**
 * Brings the tables of `owner` to its newest migration and returns whether anything was done. Any number of replicas may
 * call it at once: one works, the others wait and find it done.
 *
 * @throws DatabaseStartError when a migration fails, or when the database is newer than this build
 */
export async function migrate(
  target: MigrationTarget,
  owner: string,
  migrations: readonly (Migration | MovedMigration)[],
): Promise<boolean> {
  assertOrdered(owner, migrations);
  // The usual start finds everything done, with one query and no lock. A missing journal means that nothing is.
  const before = await readJournal(target.kysely, owner).catch(() => undefined);
  if (before !== undefined && pending(owner, migrations, before).length === 0) return false;
  return locked(target, async (queries) => {
    await createJournal(target, queries);
    await takeOver(queries, owner, migrations);
    const work = pending(owner, migrations, await readJournal(queries, owner));
    for (const step of work) {
      await run({ ...target, kysely: queries }, owner, step);
      target.log.info({ owner, migration: step.migration.name }, 'migrated');
    }
    return work.length > 0;
  });
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

interface JournalRow {
  readonly name: string;
  /** Statements that are done; `null` when the whole migration is. */
  readonly statements: number | null;
}

async function createJournal(target: MigrationTarget, queries: MigrationQueries): Promise<void> {
  const types = columnTypes(target.platform, new Date(target.clock.now()));
  await schemaOf(target, queries)
    .createTable(JOURNAL)
    .ifNotExists()
    .addColumn('owner', types.string(64), (column) => column.notNull())
    .addColumn('name', types.string(128), (column) => column.notNull())
    .addColumn('statements', types.integer)
    .addPrimaryKeyConstraint(`${JOURNAL}_pkey`, ['owner', 'name'])
    .execute();
}

/** Makes the table in which the tables of tenants are noted, unless it is there. */
export function createNotes(target: MigrationTarget): Promise<void> {
  const types = columnTypes(target.platform, new Date(target.clock.now()));
  return locked(target, async (queries) => {
    await schemaOf(target, queries)
      .createTable(NOTES)
      .ifNotExists()
      .addColumn('name', types.string(128), (column) => column.notNull().primaryKey())
      .addColumn('owner', types.string(64), (column) => column.notNull())
      .addColumn('impersonal', types.integer, (column) => column.notNull())
      .execute();
  });
}

async function readJournal(queries: MigrationQueries, owner: string): Promise<readonly JournalRow[]> {
  const rows = await queries
    .selectFrom(JOURNAL)
    .select(['name', 'statements'])
    .where('owner', '=', owner)
    .execute();
  return rows as JournalRow[];
}

/**
 * Copies the lines of migrations that another owner ran before they moved here. That owner's lines stay: a replica of the version before, which may
 * start beside this one, still finds its migrations done.
 */
async function takeOver(
  queries: MigrationQueries,
  owner: string,
  migrations: readonly (Migration | MovedMigration)[],
): Promise<void> {
  const own = new Set((await readJournal(queries, owner)).map(({ name }) => name));
  for (const migration of migrations) {
    if ('movedTo' in migration || migration.formerly === undefined || own.has(migration.name)) continue;
    const { name, formerly } = migration;
    const before = (await readJournal(queries, formerly)).find((row) => row.name === name);
    if (before !== undefined) await record(queries, { owner, name }, before.statements);
  }
}

interface Work {
  readonly migration: Migration;
  /** Statements that an interrupted run has done (MySQL); `undefined` when the migration was never begun. */
  readonly done: number | undefined;
}

function pending(
  owner: string,
  migrations: readonly (Migration | MovedMigration)[],
  journal: readonly JournalRow[],
): readonly Work[] {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = journal.find(({ name }) => !known.has(name));
  if (unknown !== undefined) {
    throw new DatabaseStartError(
      `The database is newer than this build: ${owner} has the migration ${unknown.name}, which this build does not know`,
    );
  }
  const rows = new Map(journal.map((row) => [row.name, row]));
  return migrations.flatMap((migration) => {
    if ('movedTo' in migration) return [];
    const row = rows.get(migration.name);
    return row?.statements === null ? [] : [{ migration, done: row?.statements }];
  });
}

async function run(target: MigrationTarget, owner: string, { migration, done }: Work): Promise<void> {
  const { kysely, family } = target;
  const statements = migration.up(
    schemaOf(target, kysely),
    columnTypes(target.platform, new Date(target.clock.now())),
    kysely,
  );
  const key = { owner, name: migration.name };
  if (done === undefined) await record(kysely, key, 0);
  for (const [index, statement] of statements.entries()) {
    if (index < (done ?? 0)) continue;
    await execute(kysely, statement, index === done).catch((error: Error) => {
      const text = `Migration ${migration.name} of ${owner} failed at statement ${index + 1}: ${error.message}`;
      throw new DatabaseStartError(text, { cause: error });
    });
    if (family === 'mysql') await record(kysely, key, index + 1);
  }
  await record(kysely, key, null);
}

/** MySQL's answers to a schema change that is there already: table, column, index exists; nothing there to drop. */
const DONE_BEFORE = new Set([1050, 1060, 1061, 1091, 1051]);

async function execute(queries: MigrationQueries, statement: Compilable, resumed: boolean): Promise<void> {
  try {
    await queries.executeQuery(statement.compile());
  } catch (error) {
    // A process that died between a statement and its line in the journal leaves the statement done but not recorded.
    const code = (error as { errno?: number }).errno;
    if (!resumed || code === undefined || !DONE_BEFORE.has(code)) throw error;
  }
}

async function record(
  queries: MigrationQueries,
  key: { owner: string; name: string },
  statements: number | null,
): Promise<void> {
  const changed = await queries
    .updateTable(JOURNAL)
    .set({ statements })
    .where('owner', '=', key.owner)
    .where('name', '=', key.name)
    .executeTakeFirst();
  if (changed.numUpdatedRows > 0n) return;
  await queries
    .insertInto(JOURNAL)
    .values({ ...key, statements })
    .execute();
}

function schemaOf(target: MigrationTarget, queries: Kysely<unknown>): MigrationSchema {
  const { schema } = queries;
  const { tableOptions } = target;
  return {
    createTable: (table) => {
      const created = schema.createTable(table);
      return tableOptions === undefined ? created : created.modifyEnd(sql.raw(tableOptions));
    },
    alterTable: (table) => schema.alterTable(table),
    dropTable: (table) => schema.dropTable(table),
    createIndex: (name) => schema.createIndex(name),
    dropIndex: (name, table) =>
      target.family === 'mysql' ? schema.dropIndex(name).on(table) : schema.dropIndex(name),
  };
}

function assertOrdered(owner: string, migrations: readonly { readonly name: string }[]): void {
  const names = migrations.map(({ name }) => name);
  const sorted = [...new Set(names)].sort();
  if (names.length === sorted.length && names.every((name, index) => name === sorted[index])) return;
  throw new DatabaseStartError(
    `The migrations of ${owner} are not in the order of their names, or a name comes twice`,
  );
}
