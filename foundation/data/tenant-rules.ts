import { type AnyEntity, type EntityName, type EntityProperty, helper, Utils } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { DatabaseDefect, refuseForeign } from './errors.ts';
import { findOptions, type TenantFindOptions } from './find-options.ts';
import { refuseRawSql, refuseSymbols } from './raw-sql.ts';
import type { RowWrite } from './rows/row-writes.ts';
import type { ReadyWrite } from './rows/write-together.ts';
import { TENANT_PROPERTY } from './tenancy.ts';
import { References, tenantOf } from './tenant-flush.ts';
import type { TenantSource } from './tenant-source.ts';

// biome-ignore lint/suspicious/noExplicitAny: the rules do not depend on the entity's shape
type AnyEntityName = EntityName<any>;

type Row = Readonly<Record<string, unknown>>;

/**
 * What a tenant-bound entity manager accepts: entities that belong to tenants, known properties, no raw SQL, and no tenant but its own.
 * Anything else throws a `DatabaseDefect`. The database is asked by `verifyReferences` alone.
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

  /** Throws unless rows that match may be read; gives what MikroORM reads them with, which binds them by its filter. */
  readOptions<E extends object, Hint extends string, Fields extends string, Excludes extends string>(
    entity: EntityName<E>,
    where: unknown,
    options: TenantFindOptions<E, Hint, Fields, Excludes> | undefined,
  ) {
    const property = this.#tenantProperty(entity);
    refuseRawSql(where);
    return findOptions(property, options);
  }

  /** Throws unless rows that match may be read, in this order; gives the condition that binds them where no filter does. */
  assertReadable(entity: AnyEntityName, where: unknown, orderBy?: unknown): Row {
    const property = this.#tenantProperty(entity);
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

  /** Throws unless `amounts` may be added to rows that match, and the rows changed as `also` says. Neither may name the tenant. */
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

  /** One of several writes, with its tenant, ready to run; undefined for an insert of no rows. */
  ready(write: RowWrite): ReadyWrite | undefined {
    const { entity } = write;
    this.#source.tenancies.assertWritable(Utils.className(entity));
    const own = this.#ownWrite(write);
    try {
      return this.#source.plainRows.ready(this.#source.metadata(entity), this.bound, own);
    } catch (defect) {
      // Only plain values of known columns get so far as to be written; for anything else the rules say best what is wrong.
      if (write.kind === 'update') this.assertChangeable(entity, write.where, write.data);
      else for (const row of write.rows) this.row(entity, row);
      throw defect;
    }
  }

  /** Gives the tenant to an entity that has none. Throws for another tenant's. */
  adopt(entity: object): void {
    const meta = helper(entity as AnyEntity)?.__meta;
    if (meta === undefined)
      throw new DatabaseDefect('not-registered', 'This is no entity: make it with create()');
    this.#source.tenancies.assertWritable(meta.className);
    const tenant = tenantOf(entity);
    if (tenant === undefined) (entity as Record<string, unknown>)[TENANT_PROPERTY] = this.#tenantId;
    else if (tenant !== this.#tenantId) refuseForeign(meta.className);
  }

  /** Throws unless all that the rows refer to is of the tenant of `unit`, which reads it. */
  async verifyReferences(
    unit: SqlEntityManager,
    entity: AnyEntityName,
    rows: readonly object[],
  ): Promise<void> {
    const { relations } = this.#source.metadata(entity);
    if (relations.length === 0) return;
    const references = new References();
    for (const row of rows) references.add(relations as readonly EntityProperty[], row);
    await references.verify(unit);
  }

  #tenantProperty(entity: AnyEntityName): string {
    return this.#source.tenancies.tenantProperty(Utils.className(entity));
  }

  #ownWrite(write: RowWrite): RowWrite {
    if (write.kind === 'insert')
      return { ...write, rows: write.rows.map((row) => this.#ownRow(write.entity, row)) };
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
