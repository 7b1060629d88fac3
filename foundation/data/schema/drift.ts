import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { DatabaseStartError } from '../errors.ts';
import { type RealColumns, readColumns } from './catalogue.ts';
import type { MigrationTarget } from './locked.ts';

/** Differences that are reported at once. */
const MOST_REPORTED = 3;

/** What is compared. */
interface Compared {
  readonly owner: string;
  readonly metadata: readonly EntityMetadata[];
  readonly migrations: readonly { readonly name: string }[];
}

/**
 * Refuses entities that the tables which are really there cannot serve: a table or column is missing, a column is too
 * short, or one has to be written that the entity does not know. Other tables and columns are the operator's, or a
 * newer replica's, and do no harm. One query, and none without entities.
 *
 * @throws DatabaseStartError naming table and column, and the migration that is to be written
 */
export async function assertNoDrift(
  { family, kysely }: Pick<MigrationTarget, 'family' | 'kysely'>,
  { owner, metadata, migrations }: Compared,
): Promise<void> {
  // One of another schema than the gateway's own is not made by migrations.
  const compared = metadata.filter(({ schema, virtual, view }) => schema === undefined && !virtual && !view);
  const names = compared.map(({ tableName }) => tableName);
  const tables = await readColumns(family, kysely, names);
  const differences = compared.flatMap((meta) => differencesOf(meta, tables.get(meta.tableName)));
  if (differences.length === 0) return;
  const reported = differences.slice(0, MOST_REPORTED).join('; ');
  const rest = differences.length > MOST_REPORTED ? `; and ${differences.length - MOST_REPORTED} more` : '';
  throw new DatabaseStartError(
    `The tables of ${owner} are not as its entities need them: ${reported}${rest}. Write a migration ${nextName(migrations)} that changes this`,
  );
}

/** What of a table its entity cannot work with, as sentences. Pure. */
export function differencesOf(meta: EntityMetadata, columns: RealColumns | undefined): readonly string[] {
  const { tableName: table, className } = meta;
  if (columns === undefined) return [`the table ${table} of ${className} is missing`];
  const written = new Map(meta.props.filter(hasColumn).flatMap(columnsOf));
  const wanted = [...written].flatMap(([name, length]) => {
    const column = columns.get(name.toLowerCase());
    if (column === undefined) return [`${table} has no column ${name}, which ${className} has`];
    if (length === undefined || column.length === undefined || column.length >= length) return [];
    return [`${table}.${name} takes ${column.length} characters, and ${className} up to ${length}`];
  });
  const known = new Set([...written.keys()].map((name) => name.toLowerCase()));
  const unknown = [...columns].filter(([key, { isRequired }]) => isRequired && !known.has(key));
  return [
    ...wanted,
    ...unknown.map(
      ([, { name }]) =>
        `${table}.${name} takes no null and has no default, and ${className} does not write it`,
    ),
  ];
}

/** The columns of a property, each with the length that it is declared with. */
function columnsOf({ fieldNames, length, kind }: EntityProperty) {
  // The length of a reference is that of what it leads to.
  const declared = kind === ReferenceKind.SCALAR ? length : undefined;
  return fieldNames.map((name) => [name, declared] as const);
}

function hasColumn({ kind, persist, formula, fieldNames, owner, object }: EntityProperty): boolean {
  if (persist === false || formula !== undefined || fieldNames === undefined) return false;
  switch (kind) {
    case ReferenceKind.SCALAR:
    case ReferenceKind.MANY_TO_ONE:
      return true;
    case ReferenceKind.ONE_TO_ONE:
      return owner === true;
    case ReferenceKind.EMBEDDED:
      return object === true;
    default:
      return false;
  }
}

/** A name that comes after those that there are: `004-…`. */
function nextName(migrations: readonly { readonly name: string }[]): string {
  const last = migrations.at(-1)?.name;
  const digits = /^\d+/.exec(last ?? '000')?.[0];
  const next = digits === undefined ? '' : ` ${String(Number(digits) + 1).padStart(digits.length, '0')}-…`;
  return last === undefined ? next.trim() : `after ${last}, called${next || ' so that it comes last'},`;
}
