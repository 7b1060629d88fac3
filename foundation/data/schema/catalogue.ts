import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../family.ts';
import type { MigrationQueries } from '../migration.ts';

/** A column as it really is. */
export interface RealColumn {
  readonly name: string;
  /** It takes no null, and the database gives it no value by itself. */
  readonly isRequired: boolean;
  /** Most characters; `undefined` where it has no such bound. */
  readonly length: number | undefined;
}

/** The columns of one table, by their names in lower case. */
export type RealColumns = ReadonlyMap<string, RealColumn>;

interface CatalogueRow {
  readonly of_table: string;
  readonly name: string;
  readonly required: unknown;
  readonly length: unknown;
}

/** Names of SQLite and MySQL may differ in case from what was asked for; views are read like tables. */
const COLUMNS: Readonly<Record<Family, (names: RawBuilder<unknown>) => RawBuilder<CatalogueRow>>> = {
  sqlite: (names) => sql`
    select tables.name as of_table, columns.name as name, null as length,
      columns."notnull" = 1 and columns.dflt_value is null and columns.pk = 0 and columns.hidden = 0 as required
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type in ('table', 'view') and lower(tables.name) in (${names})`,
  postgres: (names) => sql`
    select tables.relname as of_table, columns.attname as name,
      columns.attnotnull and not columns.atthasdef and columns.attidentity = '' as required,
      case when columns.atttypid in ('varchar'::regtype, 'bpchar'::regtype) and columns.atttypmod > 4
        then columns.atttypmod - 4 end as length
    from pg_class as tables join pg_attribute as columns on columns.attrelid = tables.oid
    where tables.relkind in ('r', 'p', 'v', 'm', 'f') and pg_table_is_visible(tables.oid)
      and lower(tables.relname) in (${names}) and columns.attnum > 0 and not columns.attisdropped`,
  mysql: (names) => sql`
    select table_name as of_table, column_name as name,
      is_nullable = 'NO' and column_default is null and extra = '' as required,
      case when data_type in ('varchar', 'char') then character_maximum_length end as length
    from information_schema.columns
    where table_schema = database() and table_name in (${names})`,
};

/** Reads the columns of those of the tables that there are, by the name that was asked for: one query. */
export async function readColumns(
  family: Family,
  queries: MigrationQueries,
  tables: readonly string[],
): Promise<ReadonlyMap<string, RealColumns>> {
  if (tables.length === 0) return new Map();
  // MySQL compares names itself, as its file system does.
  const asked = tables.map((name) => (family === 'mysql' ? name : name.toLowerCase()));
  const { rows } = await COLUMNS[family](sql.join(asked.map((name) => sql.lit(name)))).execute(queries);
  const found = Map.groupBy(rows, (row) => row.of_table.toLowerCase());
  return new Map(
    tables.flatMap((name) => {
      const columns = found.get(name.toLowerCase());
      return columns === undefined ? [] : [[name, new Map(columns.map(toColumn))] as const];
    }),
  );
}

function toColumn({ name, required, length }: CatalogueRow): readonly [string, RealColumn] {
  const isRequired = required === true || Number(required) === 1;
  return [name.toLowerCase(), { name, isRequired, length: length === null ? undefined : Number(length) }];
}
