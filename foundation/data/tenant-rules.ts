import {
  type EntityName,
  type EntityProperty,
  type FindOptions,
  type IsolationLevel,
  isRaw,
  ReferenceKind,
  Utils,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { DatabaseDefect, refuseForeign } from './errors.ts';
import type { ReadyWrite, RowWrite } from './rows/row-writes.ts';
import { TENANT_PROPERTY } from './tenancy.ts';
import type { TenantSource } from './tenant-source.ts';

// biome-ignore lint/suspicious/noExplicitAny: the rules do not depend on the entity's shape
type AnyEntityName = EntityName<any>;

type Row = Readonly<Record<string, unknown>>;

/** Rows that a list without a limit may have. 300,000 take half a minute, in which nothing else runs. */
const MAX_FOUND = 10_000;

/**
 * What a tenant-bound entity manager accepts: entities that belong to tenants, known properties, no raw SQL, and no
 * tenant but its own. Anything else throws a `DatabaseDefect`. The database is asked by `verifyReferences` alone.
 */
export class TenantRules {
  readonly #tenantId: string;
  readonly #source: TenantSource;
  /** What binds a write to the tenant: a condition on rows that are there, a value of new ones. */
  readonly bound: Row;

  constructor(tenantId: string, source: TenantSource) {
    this.#tenantId = tenantId;
    this.#source = source;
    this.bound = { [TENANT_PROPERTY]: tenantId };
  }

  /**
   * Throws unless rows that match may be read so; gives what MikroORM reads them with, which binds them by its filter:
   * the options that may be asked for and no other. The property of the tenant is always loaded.
   */
  readOptions(entity: AnyEntityName, where: unknown, options: AnyFindOptions = {}) {
    const { populate, fields, exclude, orderBy, limit, offset, lockMode, strategy } = options;
    const [property] = Object.keys(this.assertReadable(entity, where, orderBy)) as [string];
    const loaded = fields === undefined ? {} : { fields: [...(fields as string[]), property] };
    const kept =
      exclude === undefined ? {} : { exclude: (exclude as string[]).filter((name) => name !== property) };
    // Nothing is kept from read to read, so that each shows the database.
    const asked = { populate, orderBy, limit, offset, lockMode, strategy, disableIdentityMap: true };
    return { ...asked, ...loaded, ...kept } as object;
  }

  /**
   * `readOptions` of a list. One that names no limit gets one, which `allOf` looks at, unless it loads relations too:
   * MikroORM would then read the rows through a second select.
   */
  listOptions(entity: AnyEntityName, where: unknown, options: AnyFindOptions = {}) {
    return this.readOptions(
      entity,
      where,
      isOpenEnded(options) ? { ...options, limit: MAX_FOUND + 1 } : options,
    );
  }

  /** What was found with `listOptions`. Throws where it is more than a list without a limit may have. */
  allOf<Found extends object>(entity: AnyEntityName, found: Found[], options: AnyFindOptions = {}): Found[] {
    if (found.length <= MAX_FOUND || !isOpenEnded(options)) return found;
    const { className } = this.#source.metadata(entity);
    throw new DatabaseDefect(
      'unbounded',
      `More than ${MAX_FOUND} rows of ${className} match: give a limit, or read them one after the other with eachRow`,
    );
  }

  /**
   * Throws unless rows that match may be read, in this order; gives the condition that binds them where no filter does.
   */
  assertReadable(entity: AnyEntityName, where: unknown, orderBy?: unknown): Row {
    const property = this.#source.tenancies.tenantProperty(Utils.className(entity));
    refuseRawSql(where);
    refuseRawSql(orderBy);
    return { [property]: this.#tenantId };
  }

  /** Throws unless rows that match may be written. */
  assertWritable(entity: AnyEntityName, where: unknown): void {
    this.#source.tenancies.assertWritable(Utils.className(entity));
    refuseRawSql(where);
  }

  /** Throws unless rows that match may be changed so. They may be given the tenant that they have. */
  assertChangeable(entity: AnyEntityName, where: unknown, data: object): void {
    this.assertWritable(entity, where);
    this.#assertProperties(entity, data);
    refuseRawSql(data);
    this.#assertKeepsTenant(entity, data);
  }

  /**
   * Throws unless `amounts` may be added to rows that match, and the rows changed as `also` says. Neither may name the
   * tenant.
   */
  assertIncrementable(entity: AnyEntityName, where: unknown, amounts: object, also: object): void {
    this.assertWritable(entity, where);
    this.#assertProperties(entity, amounts);
    this.#assertProperties(entity, also);
    refuseRawSql(also);
    if (TENANT_PROPERTY in also || TENANT_PROPERTY in amounts) refuseForeign(Utils.className(entity));
  }

  /** A new row, with its tenant. */
  row(entity: AnyEntityName, data: object): Record<string, unknown> {
    this.assertWritable(entity, data);
    this.#assertProperties(entity, data);
    this.#assertOwn(entity, tenantOf(data));
    return { ...data, [TENANT_PROPERTY]: this.#tenantId };
  }

  /**
   * A write with its tenant, as one statement; undefined for an insert of no rows, and where only MikroORM can do it.
   * Throws unless it may be done.
   */
  ready(write: RowWrite): ReadyWrite | undefined {
    const { entity } = write;
    this.#source.tenancies.assertWritable(Utils.className(entity));
    const ready = this.#source.plainRows.ready(
      this.#source.metadata(entity),
      this.bound,
      this.#ownWrite(write),
    );
    if (ready !== undefined) return ready;
    // Only plain values of known columns get so far as to be written; for anything else the rules say best what is
    // wrong.
    if (write.kind === 'update') this.assertChangeable(entity, write.where, write.data);
    else if (write.kind === 'delete') this.assertWritable(entity, write.where);
    else for (const row of write.rows) this.row(entity, row);
    return undefined;
  }

  /** The same of a write that has to be one statement, or none for an insert of no rows. Throws where it is not. */
  readyTogether(write: RowWrite): readonly ReadyWrite[] {
    const ready = this.ready(write);
    if (ready !== undefined) return [ready];
    if (write.kind === 'insert' && write.rows.length === 0) return [];
    const { className } = this.#source.metadata(write.entity);
    const what = write.kind === 'insert' ? 'A row' : 'A change';
    throw new DatabaseDefect('plain-rows', `${what} of ${className} is not plain, or empty: write it alone`);
  }

  /** Throws unless all that the rows refer to is of the tenant of `unit`, which looks for it. */
  async verifyReferences(
    unit: SqlEntityManager,
    entity: AnyEntityName,
    rows: readonly object[],
  ): Promise<void> {
    const relations = this.#source.metadata(entity).relations as readonly EntityProperty[];
    for (const relation of relations.filter(
      ({ owner, kind }) => owner || kind === ReferenceKind.MANY_TO_ONE,
    )) {
      const target = relation.targetMeta;
      if (target === undefined) continue;
      const key = target.primaryKeys[0] as string;
      const ids = new Set(rows.map((row) => idOf((row as Row)[relation.name], key)));
      ids.delete(undefined);
      if (ids.size === 0) continue;
      const found = await unit.count(target.class, { [key]: { $in: [...ids] } } as object);
      if (found !== ids.size) refuseForeign(target.className);
    }
  }

  #ownWrite(write: RowWrite): RowWrite {
    if (write.kind === 'insert')
      return { ...write, rows: write.rows.map((row) => this.#ownRow(write.entity, row)) };
    if (write.kind === 'delete') return write;
    this.#assertKeepsTenant(write.entity, write.data);
    refuseSymbols(write.data);
    return write;
  }

  /** The row without its tenant, which is bound to the whole write; the row itself where it names none. */
  #ownRow(entity: AnyEntityName, row: Row): Row {
    refuseSymbols(row);
    const given = tenantOf(row);
    if (given === undefined && !(TENANT_PROPERTY in row)) return row;
    this.#assertOwn(entity, given);
    const { [TENANT_PROPERTY]: _, ...own } = row;
    return own;
  }

  /** A new row that names no tenant gets this one. */
  #assertOwn(entity: AnyEntityName, given: unknown): void {
    if (given !== undefined && given !== null && given !== this.#tenantId)
      refuseForeign(Utils.className(entity));
  }

  /** A row that exists would lose its tenant to an `undefined` or null. */
  #assertKeepsTenant(entity: AnyEntityName, data: object): void {
    if (TENANT_PROPERTY in data && tenantOf(data) !== this.#tenantId) refuseForeign(Utils.className(entity));
  }

  /** MikroORM would take an unknown name for a column, and `tenant_id` so past the check of `tenantId`. */
  #assertProperties(entity: AnyEntityName, data: object): void {
    const { properties, className } = this.#source.metadata(entity);
    for (const name of Object.keys(data)) {
      if (Object.hasOwn(properties, name)) continue;
      throw new DatabaseDefect('unknown-property', `${className} has no property ${name}`);
    }
  }
}

const isOpenEnded = ({ limit, populate }: AnyFindOptions) => limit === undefined && populate === undefined;

/** The tenant that a row names. */
function tenantOf(row: object): unknown {
  return (row as Row)[TENANT_PROPERTY];
}

/** What a row refers to: an id, or an entity with one; undefined for nothing. */
function idOf(value: unknown, key: string): unknown {
  if (value === undefined || value === null) return undefined;
  return Utils.isEntity(value) ? (value as Row)[key] : value;
}

/** How a transaction runs. */
export interface TransactionOptions {
  /** How often a transaction that lost a race (deadlock, serialization) is run again from its start. Default 0. */
  readonly retries?: number;
  readonly isolation?: IsolationLevel;
}

/** How several writes are done. */
export interface WriteOptions {
  /**
   * Outside a transaction: the writes may be committed with those that other callers of the tenant have ready at the
   * same time, since a commit costs more than a few rows. What fails or does not match is done again on its own, so
   * that no caller notices the others. The value says whose they are (a session's id, a run's): of those in one commit
   * the lower one is written first, so that no two commits wait for each other.
   */
  readonly shareAs?: string;
}

/** What may be asked of a read. Filters, schemas, raw SQL and connections are not for the caller to choose. */
export type TenantFindOptions<
  E,
  Hint extends string = never,
  Fields extends string = never,
  Excludes extends string = never,
> = Pick<
  FindOptions<E, Hint, Fields, Excludes>,
  'populate' | 'fields' | 'exclude' | 'orderBy' | 'limit' | 'offset' | 'lockMode' | 'strategy'
>;

/** The same, whatever the entity. */
type AnyFindOptions = { readonly [Name in keyof TenantFindOptions<object>]?: unknown };

/** Objects deeper than this are data (JSON), not conditions; MikroORM would not look there for SQL either. */
const MAX_DEPTH = 32;

/**
 * Refuses raw SQL anywhere in a condition, an order or a row. MikroORM takes fragments as values and as (symbol) keys;
 * either could lead out of the tenant, by a subquery or a closing parenthesis, on the families without row-level
 * security.
 */
function refuseRawSql(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  if (isRaw(value) || typeof (value as { toRaw?: unknown }).toRaw === 'function') refuse();
  if (Array.isArray(value)) {
    for (const element of value) refuseRawSql(element, depth + 1);
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return;
  refuseSymbols(value);
  for (const key of Object.keys(value)) refuseRawSql((value as Record<string, unknown>)[key], depth + 1);
}

/** Refuses raw SQL that is a key: MikroORM makes symbols for it. What else an object holds is left to others. */
function refuseSymbols(value: object): void {
  if (Object.getOwnPropertySymbols(value).length > 0) refuse();
}

function refuse(): never {
  throw new DatabaseDefect(
    'raw-sql',
    'A tenant-bound entity manager takes no raw SQL; see increment and aggregate',
  );
}
