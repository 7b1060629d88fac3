import { setTimeout as pause } from 'node:timers/promises';
import type { Compilable } from 'kysely';
import { DatabaseStartError } from './errors.ts';
import type { Migration, MigrationQueries, MovedMigration } from './migration.ts';
import { readColumns } from './schema/catalogue.ts';
import { createJournal, JOURNAL, type JournalRow, readJournal, record } from './schema/journal.ts';
import { locked, type MigrationTarget, together } from './schema/locked.ts';
import {
  fingerprintOf,
  firstChange,
  isComparable,
  statementsOf,
  tablesAfter,
  textsOf,
} from './schema/statements.ts';
import { assertFree, createTableOwners, noteTables } from './schema/table-owners.ts';
import { type Heir, takeOverMigrations, takeOverNames } from './schema/take-over.ts';

/** Milliseconds after which a clock shows another time. */
const A_MOMENT_MS = 2;

/** Whose tables they are, and what makes them. */
export interface Migrated extends Heir {
  readonly migrations: readonly (Migration | MovedMigration)[];
}

/**
 * Brings the tables of an owner to its newest migration. Any number of replicas may call it at once: one works, the
 * others wait and find it done.
 *
 * @throws DatabaseStartError when a migration fails, when one that was applied has changed since, when a table belongs
 * to another owner, or when the database is newer than this build
 */
export async function migrate(target: MigrationTarget, migrated: Migrated): Promise<void> {
  const { owner, migrations } = migrated;
  assertOrdered(owner, migrations);
  const own = migrations.filter((one): one is Migration => !('movedTo' in one));
  // The usual start finds everything done, with one query and no lock. A missing journal means that nothing is.
  const before = await readJournal(target.kysely, owner).catch(() => undefined);
  if (before !== undefined) assertKnown(owner, migrations, before);
  if (before !== undefined && isSettled(own, before)) {
    assertUnchanged(
      owner,
      worksOf(
        own.map((migration) => ({ migration, texts: textsOf(target, owner, migration) })),
        before,
      ),
    );
    return;
  }
  const built = await buildTwice(target, owner, own);
  await locked(target, async (queries) => {
    await createJournal(target, queries);
    await createTableOwners(target, queries);
    await takeOverNames(target, queries, migrated);
    await takeOverMigrations(queries, owner, migrations);
    const journal = await readJournal(queries, owner);
    assertKnown(owner, migrations, journal);
    await work({ ...target, kysely: queries }, owner, worksOf(built, journal));
  });
}

/** Refuses a database that is newer than this build, as `migrate` does; changes nothing. @throws DatabaseStartError */
export async function assertNotNewer(
  { family, kysely }: Pick<MigrationTarget, 'family' | 'kysely'>,
  { owner, migrations }: Migrated,
): Promise<void> {
  const columns = (await readColumns(family, kysely, [JOURNAL])).get(JOURNAL);
  // Without a journal nothing was migrated; one of a version before lacks columns.
  if (columns?.has('successor')) assertKnown(owner, migrations, await readJournal(kysely, owner));
}

/** A migration with the texts of its statements, and what the journal has of it: nothing where it was never begun. */
interface Work {
  readonly migration: Migration;
  readonly texts: readonly string[];
  readonly row: JournalRow | undefined;
}

/** The same with what the journal is to keep of the texts. */
type Recorded = Work & { readonly hashes: string };

function worksOf<T extends Omit<Work, 'row'>>(
  all: readonly T[],
  journal: readonly JournalRow[],
): readonly (T & Work)[] {
  const rows = new Map(journal.map((row) => [row.name, row]));
  return all.map((one) => ({ ...one, row: rows.get(one.migration.name) }));
}

/** Builds them at two moments: an author may have written the time or a random id into a text. */
async function buildTwice(
  target: MigrationTarget,
  owner: string,
  migrations: readonly Migration[],
): Promise<readonly Omit<Recorded, 'row'>[]> {
  const all = migrations.map((migration) => ({ migration, texts: textsOf(target, owner, migration) }));
  await pause(A_MOMENT_MS);
  return all.map(({ migration, texts }) => ({
    migration,
    texts,
    hashes: fingerprintOf(texts, textsOf(target, owner, migration)),
  }));
}

/** Does what is to be done. */
async function work(target: MigrationTarget, owner: string, all: readonly Recorded[]): Promise<void> {
  const { kysely: queries, log } = target;
  assertUnchanged(owner, all);
  const pending = all.filter(({ row }) => row === undefined || row.statements === 0);
  const made = pending.flatMap(({ texts }) => texts.flatMap((text) => [...tablesAfter([text])]));
  await assertFree(target, queries, owner, [...new Set(made)]);
  const moved = all.flatMap(({ migration: { formerly } }) => formerly ?? []);
  const done = all.flatMap(({ texts, row }) =>
    texts.slice(0, row === undefined ? 0 : (row.statements ?? undefined)),
  );
  let tables = tablesAfter(done);
  await noteTables(queries, owner, tables, moved);
  for (const one of all) {
    const { name } = one.migration;
    if (one.row?.statements !== null) {
      tables = await run(target, owner, one, tables);
      log.info({ owner, migration: name }, 'migrated');
    } else if (!isComparable(one.row.hashes)) await record(queries, { owner, name }, { hashes: one.hashes });
  }
}

/** Whether nothing is left to be done or to be noted. */
function isSettled(migrations: readonly Migration[], journal: readonly JournalRow[]): boolean {
  const rows = new Map(journal.map((row) => [row.name, row]));
  return migrations.every(({ name }) => {
    const row = rows.get(name);
    return row?.statements === null && isComparable(row.hashes);
  });
}

function assertKnown(
  owner: string,
  migrations: readonly { readonly name: string }[],
  journal: readonly JournalRow[],
): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = journal.find(({ name, successor }) => successor === null && !known.has(name));
  if (unknown === undefined) return;
  throw new DatabaseStartError(
    `The database is newer than this build: ${owner} has the migration ${unknown.name}, which this build does not know: run the version that has it, or a newer one`,
  );
}

/**
 * Compares what was run with what is there now; of a migration that was interrupted, the statements that are done
 * (MySQL). @throws DatabaseStartError
 */
function assertUnchanged(owner: string, all: readonly Work[]): void {
  for (const { migration, texts, row } of all) {
    if (row === undefined || row.statements === 0 || !isComparable(row.hashes)) continue;
    const done = row.statements ?? undefined;
    const changed = firstChange(row.hashes, texts, done);
    if (changed === undefined) continue;
    const { name } = migration;
    const which = `statement ${changed + 1} is not the one that was run. Restore it`;
    const said =
      done === undefined
        ? `Migration ${name} of ${owner} was changed after it was applied: ${which}, and write what is to change into a new migration`
        : `Migration ${name} of ${owner} was changed after ${done} of its statements were run: ${which}, and the migration goes on with statement ${done + 1}; or undo by ` +
          `hand what was done, and delete from ${JOURNAL} where owner = '${owner}' and name = '${name}'`;
    const heir = row.successor;
    throw new DatabaseStartError(
      heir === null ? said : `${said}. ${owner} is called ${heir} now: another plugin needs another name`,
    );
  }
}

/**
 * Runs what is left of a migration. `tables` are those that the owner's migrations have made until then; returns those
 * afterwards.
 */
async function run(
  target: MigrationTarget,
  owner: string,
  { migration, texts, row, hashes }: Recorded,
  before: ReadonlySet<string>,
): Promise<Set<string>> {
  const { kysely, family } = target;
  let tables = new Set(before);
  const key = { owner, name: migration.name };
  const done = row?.statements ?? 0;
  // A process that died between a statement and its note leaves the statement done; where it is another one by now, it
  // is not.
  const mayBeDone =
    row !== undefined &&
    (!isComparable(row.hashes) || firstChange(row.hashes, texts, done + 1) === undefined);
  await record(kysely, key, { statements: done, hashes });
  for (const [index, statement] of statementsOf(target, migration).entries()) {
    if (index < done) continue;
    const after = tablesAfter([texts[index] ?? ''], tables);
    // MySQL commits a change of a table by itself; rows are written with the note, or a restart would write them again.
    await together(kysely, async (queries) => {
      await execute(queries, statement, index === done && mayBeDone).catch((error: Error) => {
        const text = `Migration ${key.name} of ${owner} failed at statement ${index + 1}: ${error.message}`;
        throw new DatabaseStartError(text, { cause: error });
      });
      if (after.symmetricDifference(tables).size > 0) await noteTables(queries, owner, after);
      if (family === 'mysql') await record(queries, key, { statements: index + 1 });
    });
    tables = after;
  }
  await record(kysely, key, { statements: null });
  return tables;
}

/**
 * MySQL's and MariaDB's answers to a schema change that is there already: table, column, index, constraint exists;
 * nothing there to drop.
 */
const DONE_BEFORE = new Set([1050, 1060, 1061, 1826, 3822, 1091, 1051]);

async function execute(queries: MigrationQueries, statement: Compilable, mayBeDone: boolean): Promise<void> {
  const query = statement.compile();
  try {
    await queries.executeQuery(query);
  } catch (error) {
    const code = (error as { errno?: number }).errno;
    if (!mayBeDone || code === undefined) throw error;
    if (!DONE_BEFORE.has(code) && !(code === UNKNOWN_COLUMN && (await isRenamed(queries, query.sql))))
      throw error;
  }
}

/** MySQL's answer to a renaming of a column that is there already, and to a column that never was. */
const UNKNOWN_COLUMN = 1054;
const RENAMING = /^alter table `([^`]+)` rename column `[^`]+` to `([^`]+)`$/;

/** Whether the statement renames a column that has its new name by now. */
async function isRenamed(queries: MigrationQueries, text: string): Promise<boolean> {
  const [, table = '', to = ''] = RENAMING.exec(text) ?? [];
  const columns = (await readColumns('mysql', queries, [table])).get(table);
  return columns?.has(to.toLowerCase()) === true;
}

function assertOrdered(owner: string, migrations: readonly { readonly name: string }[]): void {
  for (const [index, { name }] of migrations.entries()) {
    const before = migrations[index - 1]?.name;
    if (before === undefined || before < name) continue;
    throw new DatabaseStartError(
      `Migration ${name} of ${owner} is listed behind ${before}: list each once, in the order of their names`,
    );
  }
}
