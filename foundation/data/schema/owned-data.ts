import { sql } from 'kysely';
import { DatabaseStartError } from '../errors.ts';
import type { Family } from '../family.ts';
import type { MigrationQueries } from '../migration.ts';
import { readColumns } from './catalogue.ts';
import { JOURNAL } from './journal.ts';
import { locked, type MigrationTarget, together } from './locked.ts';
import { NOTES, TABLE_OWNERS } from './table-owners.ts';

/** What an owner has in the database. */
export interface OwnedData {
  /** The tables that its migrations have made and that are there, by name. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** How many of its migrations the journal has. */
  readonly migrations: number;
  /** Names that it had before. */
  readonly formerly: readonly string[];
  /** The owner that has taken everything over, where that has happened. */
  readonly successor: string | undefined;
}

const NOTHING: OwnedData = { tables: [], migrations: 0, formerly: [], successor: undefined };

interface JournalRow {
  readonly owner: string;
  readonly successor: string | null;
  readonly hashes: string | null;
}

/**
 * Reads what an owner, and its parts (`<owner>.<part>`), have; nothing where no gateway has ever used the database.
 * Changes nothing.
 */
export async function ownedData(
  family: Family,
  queries: MigrationQueries,
  owner: string,
): Promise<OwnedData> {
  const lists = await readColumns(family, queries, [JOURNAL, TABLE_OWNERS, NOTES]);
  if (!lists.get(JOURNAL)?.has('successor')) return NOTHING;
  const rows: readonly JournalRow[] = await queries
    .selectFrom(JOURNAL)
    .select(['owner', 'successor', 'hashes'])
    .where((where) => where.or([ofOwner(where, 'owner', owner), ofOwner(where, 'successor', owner)]))
    .execute();
  const own = rows.filter((row) => row.owner === owner || row.owner.startsWith(`${owner}.`));
  // A plugin that went before its tables were noted has only those that belong to tenants.
  const isNoted = own.some(({ hashes }) => hashes !== null);
  const noted = [...lists.keys()].filter((list) => list === TABLE_OWNERS || (list === NOTES && !isNoted));
  const names = new Set<string>();
  for (const list of noted) {
    const found = await queries
      .selectFrom(list)
      .select('name')
      .where((where) => ofOwner(where, 'owner', owner))
      .execute();
    for (const { name } of found) names.add(name);
  }
  const existing = await readColumns(family, queries, [...names].sort());
  const tables = [];
  for (const name of existing.keys()) {
    const { rows: counted } = await sql<{
      count: unknown;
    }>`select count(*) as count from ${sql.table(name)}`.execute(queries);
    tables.push({ name, rows: Number(counted[0]?.count) });
  }
  return {
    tables,
    migrations: own.filter(({ successor }) => successor === null).length,
    formerly: [
      ...new Set(rows.filter((row) => !own.includes(row)).map((row) => row.owner.split('.', 1)[0]!)),
    ],
    successor: own.find(({ successor }) => successor !== null)?.successor ?? undefined,
  };
}

/** Drops what `ownedData` shows, and forgets the migrations, those under former names too. */
export function dropOwner(target: MigrationTarget, owner: string): Promise<void> {
  return locked(target, async (queries) => {
    const { tables } = await ownedData(target.family, queries, owner);
    await dropTables(
      target.family,
      queries,
      tables.map(({ name }) => name),
    );
    const lists = await readColumns(target.family, queries, [TABLE_OWNERS, NOTES]);
    await together(queries, async (transaction) => {
      for (const list of lists.keys())
        await transaction
          .deleteFrom(list)
          .where((where) => ofOwner(where, 'owner', owner))
          .execute();
      await transaction
        .deleteFrom(JOURNAL)
        .where((where) => where.or([ofOwner(where, 'owner', owner), ofOwner(where, 'successor', owner)]))
        .execute();
    });
    target.log.info({ owner, tables: tables.map(({ name }) => name) }, 'the data of an owner were removed');
  });
}

/**
 * Tables may refer to each other. A table of another owner that refers to one of them prevents the drop: nothing is
 * dropped that was not asked for.
 */
async function dropTables(
  family: Family,
  queries: MigrationQueries,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  if (family === 'postgres') {
    await sql`drop table ${sql.join(names.map((name) => sql.table(name)))}`.execute(queries);
    return;
  }
  // Those to which none of the others refers go first.
  for (let left = names; left.length > 0; ) {
    const refused: string[] = [];
    let failure: unknown;
    for (const name of left) {
      await sql`drop table ${sql.table(name)}`.execute(queries).catch((error) => {
        failure = error;
        refused.push(name);
      });
    }
    if (refused.length === left.length) {
      const text = `The tables ${refused.join(', ')} cannot be dropped: ${(failure as Error).message}`;
      throw new DatabaseStartError(text, { cause: failure });
    }
    left = refused;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: of any table
function ofOwner(where: any, column: 'owner' | 'successor', owner: string) {
  return where.or([where(column, '=', owner), where(column, 'like', `${owner}.%`)]);
}
