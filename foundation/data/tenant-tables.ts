import { type RawBuilder, sql } from 'kysely';
import type { Family } from './family.ts';
import type { MigrationQueries } from './migration.ts';
import { RETRY_RACES, withRetries } from './retry.ts';
import { NOTES } from './schema/table-owners.ts';

/** A table whose rows belong to tenants, by the column `tenant_id`. */
export interface TenantOwnedTable {
  readonly name: string;
  /** Who registered it last: a plugin, or a part of the gateway. */
  readonly owner: string;
  /** Its owner says that the rows hold nothing of persons. */
  readonly isImpersonal: boolean;
}

/**
 * The tables whose rows belong to tenants, over all tenants: for the end of a tenant, and to know whose data lie where.
 * They are noted in the database as they are registered, so those of owners that are stopped or gone are known as well.
 */
export interface TenantTables {
  /** All that there are, by name. */
  list(): Promise<readonly TenantOwnedTable[]>;
  /** Those that have a row of the tenant, by name. All are asked in one statement. */
  holding(tenantId: string): Promise<readonly TenantOwnedTable[]>;
  /** Whether a table of the list has a row of the tenant. */
  holds(table: string, tenantId: string): Promise<boolean>;
  /**
   * Deletes the rows of a tenant from a table of the list, 500 a statement, each a transaction of its own; returns how
   * many. Again it does the rest.
   *
   * @throws the signal's reason when it aborts
   */
  purge(table: string, tenantId: string, signal: AbortSignal): Promise<number>;
}

/** Rows of one statement of a purge. */
const BATCH = 500;

/** Tables of the schema in which the gateway is. */
const EXISTING: Readonly<Record<Family, RawBuilder<{ readonly name: string }>>> = {
  sqlite: sql`select name from sqlite_master where type = 'table'`,
  postgres: sql`select tablename as name from pg_tables where schemaname = current_schema()`,
  mysql: sql`select table_name as name from information_schema.tables where table_schema = database()`,
};

/** What the tables of tenants are kept with. */
interface TenantTablesParts {
  readonly family: Family;
  readonly queries: () => MigrationQueries;
  /** Makes the table of the notes where there is none. */
  readonly create: () => Promise<unknown>;
}

/** Makes them over a database; `note` takes what is registered. */
export function createTenantTables({ family, queries, create }: TenantTablesParts) {
  /** What is noted, as far as this process knows: by name. */
  let known: Map<string, string> | undefined;

  const read = async () =>
    (await queries().selectFrom(NOTES).select(['name', 'owner', 'impersonal']).execute()).map(
      ({ name, owner, impersonal }): TenantOwnedTable => ({
        name,
        owner,
        isImpersonal: Number(impersonal) === 1,
      }),
    );

  const signOf = ({ owner, isImpersonal }: TenantOwnedTable) => `${owner} ${isImpersonal}`;

  async function readKnown(): Promise<Map<string, string>> {
    const noted = await read().catch(async () => {
      await create();
      return read();
    });
    return new Map(noted.map((table) => [table.name, signOf(table)]));
  }

  async function write({ name, owner, isImpersonal }: TenantOwnedTable): Promise<void> {
    const changed = { owner, impersonal: isImpersonal ? 1 : 0 };
    const insert = queries()
      .insertInto(NOTES)
      .values({ name, ...changed });
    const noted =
      family === 'mysql'
        ? insert.onDuplicateKeyUpdate(changed)
        : insert.onConflict((conflict) => conflict.column('name').doUpdateSet(changed));
    await noted.execute();
  }

  async function list(): Promise<readonly TenantOwnedTable[]> {
    const { rows } = await EXISTING[family].execute(queries());
    const existing = new Set(rows.map(({ name }) => name));
    const noted = (await read()).filter(({ name }) => existing.has(name));
    return noted.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  const tables: TenantTables = {
    list,

    async holding(tenantId) {
      const all = await list();
      if (all.length === 0) return [];
      const held = all.map(
        ({ name }, index) =>
          sql`exists (select 1 from ${sql.table(name)} where tenant_id = ${tenantId}) as ${sql.ref(`t${index}`)}`,
      );
      const { rows } = await sql<Record<string, unknown>>`select ${sql.join(held)}`.execute(queries());
      return all.filter((_, index) => Number(rows[0]?.[`t${index}`]) === 1);
    },

    async holds(table, tenantId) {
      const { rows } =
        await sql`select 1 from ${sql.table(table)} where tenant_id = ${tenantId} limit 1`.execute(queries());
      return rows.length > 0;
    },

    async purge(table, tenantId, signal) {
      const name = sql.table(table);
      const some = sql`where tenant_id = ${tenantId} limit ${sql.lit(BATCH)}`;
      const statements: Readonly<Record<Family, RawBuilder<unknown>>> = {
        mysql: sql`delete from ${name} ${some}`,
        sqlite: sql`delete from ${name} where rowid in (select rowid from ${name} ${some})`,
        postgres: sql`delete from ${name} where ctid = any(array(select ctid from ${name} ${some}))`,
      };
      for (let purged = 0; ; ) {
        signal.throwIfAborted();
        const { numAffectedRows } = await withRetries(RETRY_RACES.retries, () =>
          statements[family].execute(queries()),
        );
        const count = Number(numAffectedRows ?? 0);
        // Until there is none: PostgreSQL passes over rows that another transaction changes at this moment.
        if (count === 0) return purged;
        purged += count;
      }
    },
  };

  return {
    tables,

    /** Notes tables that are registered; of those that are known as they are, nothing. */
    async note(registered: readonly TenantOwnedTable[]): Promise<void> {
      known ??= await readKnown();
      for (const table of registered) {
        if (known.get(table.name) === signOf(table)) continue;
        await write(table);
        known.set(table.name, signOf(table));
      }
    },
  };
}
