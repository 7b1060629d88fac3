import type { Compilable, CreateIndexBuilder, DropIndexBuilder, Kysely, SchemaModule } from 'kysely';
import type { ColumnTypes } from './columns.ts';

/** The schema statements that a migration is made of. Tables get the family's character set automatically. */
export interface MigrationSchema
  extends Pick<SchemaModule, 'createTable' | 'alterTable' | 'dropTable' | 'createIndex'> {
  /** The index `<table>_<name>` of these columns. */
  index(table: string, name: string, columns: readonly string[]): CreateIndexBuilder<string>;
  /** MySQL's indexes belong to their table; elsewhere the name is enough. */
  dropIndex(name: string, table: string): DropIndexBuilder;
}

/** A Kysely that knows no table types: a migration speaks of the schema as it was then, not as the entities are now. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type MigrationQueries = Kysely<any>;

/**
 * One forward step of an owner's schema, one source for all families. It never changes once it is released: a new wish
 * is a new migration.
 *
 * @example
 * const initial: Migration = {
 *   name: '001-initial',
 *   up: (schema, types) => [
 *     schema.createTable('notes')
 *       .addColumn('id', types.id, (column) => column.notNull().primaryKey())
 *       .addColumn('tenant_id', types.tenant, (column) => column.notNull())
 *       .addColumn('created_at', types.time, (column) => column.notNull()),
 *     schema.index('notes', 'tenant', ['tenant_id', 'created_at']),
 *   ],
 * };
 */
export interface Migration {
  /** Unique in its owner, ordered: `001-initial`, `002-add-title`. */
  readonly name: string;
  /**
   * The statements, in order; not executed here. SQLite and PostgreSQL run them all or none. MySQL commits each: after
   * a crash the migration goes on with the statement that was not done.
   *
   * @param queries for statements on rows (`queries.updateTable(…).set(…)`)
   */
  up(schema: MigrationSchema, types: ColumnTypes, queries: MigrationQueries): readonly Compilable[];
  /**
   * The owner that this migration was released under, where it has moved from there: a database on which that owner ran
   * it has it done. The former owner keeps a `MovedMigration` in its place.
   */
  readonly formerly?: string;
}

/**
 * Stands where a released migration was that has moved to another owner, with its tables: nothing runs, and databases
 * that have it are no news.
 */
export interface MovedMigration {
  readonly name: string;
  /** Name of the plugin that has it now. */
  readonly movedTo: string;
}
