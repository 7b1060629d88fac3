import { columnTypes } from '../columns.ts';
import type { MigrationQueries } from '../migration.ts';
import { readColumns } from './catalogue.ts';
import type { MigrationTarget } from './locked.ts';
import { schemaOf } from './statements.ts';

/** The journal: one row per migration and owner. */
export const JOURNAL = 'schema_migrations';

/** What the journal has of one migration. */
export interface JournalRow {
  readonly name: string;
  /** Statements that are done; `null` when the whole migration is. */
  readonly statements: number | null;
  /**
   * What its statements were (`fingerprintOf`); `null` where an earlier version wrote the row, or writes it now in
   * parallel with this one.
   */
  readonly hashes: string | null;
  /** The owner that has taken the migration over; the row stays for replicas that know the former name alone. */
  readonly successor: string | null;
}

/**
 * Makes the journal, or gives one of an earlier version the columns that it lacks. Not a migration of its own: those
 * need it, and replicas of earlier versions still write it.
 */
export async function createJournal(target: MigrationTarget, queries: MigrationQueries): Promise<void> {
  const types = columnTypes(target.platform, new Date(0));
  const schema = schemaOf(target.family, queries, target.tableOptions);
  const columns = (await readColumns(target.family, queries, [JOURNAL])).get(JOURNAL);
  if (columns === undefined) {
    await schema
      .createTable(JOURNAL)
      .ifNotExists()
      .addColumn('owner', types.string(64), (column) => column.notNull())
      .addColumn('name', types.string(128), (column) => column.notNull())
      .addColumn('statements', types.integer)
      .addColumn('hashes', types.text)
      .addColumn('successor', types.string(64))
      .addPrimaryKeyConstraint(`${JOURNAL}_pkey`, ['owner', 'name'])
      .execute();
    return;
  }
  const added = { hashes: types.text, successor: types.string(64) };
  for (const [name, type] of Object.entries(added)) {
    if (!columns.has(name)) await schema.alterTable(JOURNAL).addColumn(name, type).execute();
  }
}

/** What an owner has in the journal, in order. Rejects where there is none, or one of a version before. */
export async function readJournal(queries: MigrationQueries, owner: string): Promise<readonly JournalRow[]> {
  const rows = await queries
    .selectFrom(JOURNAL)
    .select(['name', 'statements', 'hashes', 'successor'])
    .where('owner', '=', owner)
    .orderBy('name')
    .execute();
  return rows as JournalRow[];
}

/** Notes how far a migration is, in the row that it has or in a new one. */
export async function record(
  queries: MigrationQueries,
  { owner, name }: { readonly owner: string; readonly name: string },
  state: Partial<Omit<JournalRow, 'name'>>,
): Promise<void> {
  const changed = await queries
    .updateTable(JOURNAL)
    .set(state)
    .where('owner', '=', owner)
    .where('name', '=', name)
    .executeTakeFirst();
  if (changed.numUpdatedRows > 0n) return;
  await queries
    .insertInto(JOURNAL)
    .values({ owner, name, ...state })
    .execute();
}
