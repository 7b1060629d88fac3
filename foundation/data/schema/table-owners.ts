import { columnTypes } from '../columns.ts';
import { DatabaseStartError } from '../errors.ts';
import type { MigrationQueries } from '../migration.ts';
import { readColumns } from './catalogue.ts';
import { locked, type MigrationTarget } from './locked.ts';
import { schemaOf } from './statements.ts';

/** Which tables the migrations of which owner have made: so they are known when its code is gone. */
export const TABLE_OWNERS = 'schema_tables';
/** The tables of tenants, which earlier versions noted alone (`tenant-tables.ts`). */
export const NOTES = 'schema_tenant_tables';

/** Makes the table of the owners, unless it is there. */
export async function createTableOwners(target: MigrationTarget, queries: MigrationQueries): Promise<void> {
  const types = columnTypes(target.platform, new Date(0));
  await schemaOf(target.family, queries, target.tableOptions)
    .createTable(TABLE_OWNERS)
    .ifNotExists()
    .addColumn('name', types.string(128), (column) => column.notNull().primaryKey())
    .addColumn('owner', types.string(64), (column) => column.notNull())
    .execute();
}

/** Makes the table in which the tables of tenants are noted, unless it is there. */
export function createNotes(target: MigrationTarget): Promise<void> {
  const types = columnTypes(target.platform, new Date(0));
  return locked(target, async (queries) => {
    await schemaOf(target.family, queries, target.tableOptions)
      .createTable(NOTES)
      .ifNotExists()
      .addColumn('name', types.string(128), (column) => column.notNull().primaryKey())
      .addColumn('owner', types.string(64), (column) => column.notNull())
      .addColumn('impersonal', types.integer, (column) => column.notNull())
      .execute();
  });
}

/**
 * Notes that these, and no others, are the tables that an owner's migrations have made. What is noted of another owner
 * stays with it, unless that is one of `before`, from which migrations have moved here.
 */
export async function noteTables(
  queries: MigrationQueries,
  owner: string,
  tables: ReadonlySet<string>,
  before: readonly string[] = [],
): Promise<void> {
  const rows = await queries
    .selectFrom(TABLE_OWNERS)
    .select(['name', 'owner'])
    .where((where) => where.or([where('owner', '=', owner), where('name', 'in', [...tables, ''])]))
    .execute();
  const gone = rows.filter(
    (row) => before.includes(row.owner) || (row.owner === owner && !tables.has(row.name)),
  );
  const kept = new Set(rows.filter((row) => !gone.includes(row)).map(({ name }) => name as string));
  if (gone.length > 0) {
    const names = gone.map(({ name }) => name);
    await queries.deleteFrom(TABLE_OWNERS).where('name', 'in', names).execute();
  }
  const added = [...tables.difference(kept)].map((name) => ({ name, owner }));
  if (added.length > 0) await queries.insertInto(TABLE_OWNERS).values(added).execute();
}

/**
 * Refuses to make tables that another owner has made. A note of one that is not there any more is forgotten.
 *
 * @throws DatabaseStartError naming the table and its owner
 */
export async function assertFree(
  target: MigrationTarget,
  queries: MigrationQueries,
  owner: string,
  tables: readonly string[],
): Promise<void> {
  if (tables.length === 0) return;
  const existing = await readColumns(target.family, queries, [NOTES, ...tables]);
  const lists = existing.has(NOTES) ? [TABLE_OWNERS, NOTES] : [TABLE_OWNERS];
  for (const list of lists) {
    const rows = await queries
      .selectFrom(list)
      .select(['name', 'owner'])
      .where('name', 'in', tables)
      .where('owner', '<>', owner)
      .execute();
    const taken = rows.find(({ name }) => existing.has(name));
    if (taken !== undefined) {
      throw new DatabaseStartError(
        `The table ${taken.name}, which the migrations of ${owner} make, is there already and belongs to ${taken.owner}. ${renamed(owner, taken.owner)}`,
      );
    }
    const stale = rows.map(({ name }) => name);
    if (stale.length > 0) await queries.deleteFrom(list).where('name', 'in', stale).execute();
  }
}

/** What to do where an owner meets what another one has. */
export function renamed(owner: string, other: string): string {
  return `If ${owner} is ${other} under a new name, say so in its definition: formerly: ['${other}']`;
}
