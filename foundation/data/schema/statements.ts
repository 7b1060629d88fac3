import { createHash } from 'node:crypto';
import { type Compilable, sql } from 'kysely';
import { columnTypes } from '../columns.ts';
import { DatabaseStartError } from '../errors.ts';
import type { Family } from '../family.ts';
import type { Migration, MigrationQueries, MigrationSchema } from '../migration.ts';
import type { MigrationTarget } from './locked.ts';

/**
 * How texts are brought into the form that is hashed, and by which libraries they are built. Raised when a new version
 * of them spells a statement otherwise than `comparable` can even out (a test says so): rows of another spelling are
 * taken as they are, once.
 */
const SPELLING = '1';
/** Stands for a statement whose text is not the same each time: it is never compared. */
const UNSTABLE = '-';
/** Hexadecimal digits of a hash. */
const HASH_DIGITS = 32;

/** The statements of a migration, to be run. */
export function statementsOf(target: MigrationTarget, migration: Migration): readonly Compilable[] {
  const { family, kysely, platform, tableOptions, clock } = target;
  return migration.up(
    schemaOf(family, kysely, tableOptions),
    columnTypes(platform, new Date(clock.now())),
    kysely,
  );
}

/**
 * The texts of its statements, which neither the server's version nor the moment changes: without values of rows and
 * options of tables.
 *
 * @throws DatabaseStartError naming the migration where an author returned something else
 */
export function textsOf(target: MigrationTarget, owner: string, migration: Migration): readonly string[] {
  const { family, kysely, platform } = target;
  const which = `${migration.name} of ${owner}`;
  let statements: unknown;
  try {
    statements = migration.up(schemaOf(family, kysely), columnTypes(platform, new Date(0)), kysely);
  } catch (cause) {
    throw new DatabaseStartError(`Migration ${which} makes no statements: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (!Array.isArray(statements))
    throw new DatabaseStartError(`Migration ${which} returns no list of statements`);
  return statements.map((statement: Partial<Compilable> | null | undefined, index) => {
    if (typeof statement?.compile === 'function') return statement.compile().sql;
    throw new DatabaseStartError(
      `Statement ${index + 1} of migration ${which} is no statement: schema and queries make them`,
    );
  });
}

/** What the journal keeps of these texts. `again` are the same, built a moment later: what differs is not compared. */
export function fingerprintOf(texts: readonly string[], again: readonly string[]): string {
  const hashes = texts.map((text, index) => (text === again[index] ? hashOf(text) : UNSTABLE));
  return [SPELLING, ...hashes].join(' ');
}

/** Whether `fingerprint` can be compared with what this version builds. */
export function isComparable(fingerprint: string | null): fingerprint is string {
  return fingerprint?.split(' ', 1)[0] === SPELLING;
}

/** The index of the first of the statements, up to `most`, that is not what it was; `undefined` where all are. */
export function firstChange(
  fingerprint: string,
  texts: readonly string[],
  most = Number.POSITIVE_INFINITY,
): number | undefined {
  const [, ...before] = fingerprint.split(' ');
  const count = Math.min(Math.max(before.length, texts.length), most);
  for (let index = 0; index < count; index += 1) {
    const text = texts[index];
    const hash = before[index];
    const isSame = hash === UNSTABLE ? text !== undefined : text !== undefined && hash === hashOf(text);
    if (!isSame) return index;
  }
  return undefined;
}

function hashOf(text: string): string {
  return createHash('sha256').update(comparable(text)).digest('hex').slice(0, HASH_DIGITS);
}

/** Evens out what means nothing: case, quotes and blanks outside of literals, and how values are numbered. */
function comparable(text: string): string {
  const parts = text.split(/('(?:[^']|'')*')/);
  const even = (part: string) =>
    part
      .toLowerCase()
      .replace(/["`]/g, '')
      .replace(/\$\d+/g, '?')
      .replace(/\s+/g, ' ')
      .replace(/ ?([(),;=]) ?/g, '$1');
  return parts
    .map((part, index) => (index % 2 === 1 ? part : even(part)))
    .join('')
    .trim()
    .replace(/;+$/, '');
}

const NAME = '(?:["`]?[\\w$]+["`]?\\.)?["`]?([\\w$-]+)["`]?';
const CREATED = new RegExp(`^\\s*create\\s+table\\s+(?:if\\s+not\\s+exists\\s+)?${NAME}`, 'i');
const DROPPED = new RegExp(`^\\s*drop\\s+table\\s+(?:if\\s+exists\\s+)?${NAME}`, 'i');
const RENAMED = new RegExp(`^\\s*alter\\s+table\\s+${NAME}\\s+rename\\s+to\\s+${NAME}`, 'i');

/**
 * The tables that are there when these statements have been run one after the other, of those that they make; `before`
 * were there.
 */
export function tablesAfter(texts: readonly string[], before: ReadonlySet<string> = new Set()): Set<string> {
  const tables = new Set(before);
  for (const text of texts) {
    const created = CREATED.exec(text)?.[1];
    const dropped = DROPPED.exec(text)?.[1];
    const [, from, to] = RENAMED.exec(text) ?? [];
    if (created !== undefined) tables.add(created);
    if (dropped !== undefined) tables.delete(dropped);
    if (from !== undefined && to !== undefined && tables.delete(from)) tables.add(to);
  }
  return tables;
}

/** What the statements of a migration are built with. */
export function schemaOf(family: Family, queries: MigrationQueries, tableOptions?: string): MigrationSchema {
  const { schema } = queries;
  return {
    createTable: (table) => {
      const created = schema.createTable(table);
      return tableOptions === undefined ? created : created.modifyEnd(sql.raw(tableOptions));
    },
    alterTable: (table) => schema.alterTable(table),
    dropTable: (table) => schema.dropTable(table),
    createIndex: (name) => schema.createIndex(name),
    index: (table, name, columns) =>
      schema
        .createIndex(`${table}_${name}`)
        .on(table)
        .columns([...columns]),
    dropIndex: (name, table) =>
      family === 'mysql' ? schema.dropIndex(name).on(table) : schema.dropIndex(name),
  };
}
