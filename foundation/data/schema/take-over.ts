import type { Migration, MigrationQueries, MovedMigration } from '../migration.ts';
import { readColumns } from './catalogue.ts';
import { JOURNAL, type JournalRow, readJournal, record } from './journal.ts';
import { type MigrationTarget, together } from './locked.ts';
import { NOTES, TABLE_OWNERS } from './table-owners.ts';

/** Whose migrations they are. */
export interface Heir {
  readonly owner: string;
  /** Names that it had before. */
  readonly formerly?: readonly string[];
}

/** True for a migration of which something is done. */
const isBegun = ({ statements }: JournalRow) => statements !== 0;

/**
 * Copies the rows of migrations that another owner ran before they moved here. That owner's rows stay: a replica of the
 * version before, which may start in parallel with this one, still finds its migrations done.
 */
export async function takeOverMigrations(
  queries: MigrationQueries,
  owner: string,
  migrations: readonly (Migration | MovedMigration)[],
): Promise<void> {
  const own = new Set((await readJournal(queries, owner)).map(({ name }) => name));
  for (const migration of migrations) {
    if ('movedTo' in migration || migration.formerly === undefined || own.has(migration.name)) continue;
    const { name, formerly } = migration;
    const before = (await readJournal(queries, formerly)).find((row) => row.name === name);
    if (before === undefined) continue;
    const { statements, hashes } = before;
    await record(queries, { owner, name }, { statements, hashes });
  }
}

/**
 * Takes over what an owner has under the names that it had before, and what its parts (`<owner>.<part>`) have: tables,
 * and the rows of the journal, which stay under the former names with their successor, for replicas of the version
 * before. All or nothing; again it does what is new.
 */
export async function takeOverNames(
  target: MigrationTarget,
  queries: MigrationQueries,
  { owner, formerly = [] }: Heir,
): Promise<void> {
  for (const name of formerly) {
    await together(queries, async (transaction) => {
      for (const [former, heir] of await ownersBelow(transaction, name, owner)) {
        if (!(await takeOverJournal(transaction, former, heir))) continue;
        const lists = await readColumns(target.family, transaction, [NOTES]);
        for (const list of [TABLE_OWNERS, ...lists.keys()])
          await transaction.updateTable(list).set({ owner: heir }).where('owner', '=', former).execute();
        target.log.info(
          { owner: heir, formerly: former },
          'what was kept under a former name was taken over',
        );
      }
    });
  }
}

/** The owners of a former name, each with what it is called now. */
async function ownersBelow(
  queries: MigrationQueries,
  former: string,
  owner: string,
): Promise<readonly (readonly [string, string])[]> {
  const rows = await queries
    .selectFrom(JOURNAL)
    .select('owner')
    .distinct()
    .where((where) => where.or([where('owner', '=', former), where('owner', 'like', `${former}.%`)]))
    .execute();
  return rows.map((row) => [row.owner, `${owner}${row.owner.slice(former.length)}`] as const);
}

/** False where there was nothing to take over. */
async function takeOverJournal(queries: MigrationQueries, former: string, heir: string): Promise<boolean> {
  const own = new Set((await readJournal(queries, heir)).filter(isBegun).map(({ name }) => name));
  const rows = (await readJournal(queries, former)).filter(({ successor }) => successor === null);
  for (const { name, statements, hashes } of rows) {
    if (!own.has(name)) await record(queries, { owner: heir, name }, { statements, hashes });
  }
  if (rows.length === 0) return false;
  await queries
    .updateTable(JOURNAL)
    .set({ successor: heir })
    .where((where) =>
      where.or([
        where.and([where('owner', '=', former), where('successor', 'is', null)]),
        where('successor', '=', former),
      ]),
    )
    .execute();
  return true;
}
