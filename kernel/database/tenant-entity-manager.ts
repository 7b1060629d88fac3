import {
  type AnyEntity,
  type EntityData,
  type EntityName,
  type EntityProperty,
  type FilterQuery,
  helper,
  type IsolationLevel,
  type Loaded,
  type LockMode,
  type RequiredEntityData,
  raw,
  Utils,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import { type AggregateQuery, type AggregateRow, aggregate } from './aggregate.ts';
import { DatabaseDefect, DatabaseErrors } from './errors.ts';
import { findOptions, type TenantFindOptions } from './find-options.ts';
import { refuseRawSql } from './raw-sql.ts';
import { withRetries } from './retry.ts';
import type { PlainWhere } from './rows/conditions.ts';
import type { RowsQuery } from './rows/select-statement.ts';
import type { Place } from './rows/statement-runner.ts';
import { TENANT_PROPERTY } from './tenancy.ts';
import { References, tenantOf } from './tenant-flush.ts';
import type { TenantSource } from './tenant-source.ts';
import { type UpsertOptions, upsert } from './upsert.ts';

/** A row to be written; the tenant is added by itself. */
export type TenantData<E> = Omit<RequiredEntityData<E>, typeof TENANT_PROPERTY> & {
  [TENANT_PROPERTY]?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: for what does not depend on the entity's shape
type AnyEntityName = EntityName<any>;

type Row = Readonly<Record<string, unknown>>;

/** How a transaction runs. */
export interface TransactionOptions {
  /** How often a transaction that lost a race (deadlock, serialization) is run again from its start. Default 0. */
  readonly retries?: number;
  readonly isolation?: IsolationLevel;
}

/**
 * An entity manager that sees one tenant and no other, on every family: reads carry the tenant, writes set it and refuse
 * another one, entities that belong to no tenant are refused. It is a unit of work like MikroORM's: cheap, for one request
 * or job, not shared. Only tenant-owned entities pass; raw SQL does not.
 *
 * Every method throws a `DatabaseDefect` when code tries to leave the tenant.
 */
export class TenantEntityManager {
  readonly tenantId: string;
  readonly #source: TenantSource;
  readonly #transaction: ControlledTransaction<unknown> | undefined;
  /** MikroORM's unit of work. It costs as much as a statement, and what only writes and reads plain rows never needs it. */
  #em: SqlEntityManager | undefined;

  /** Made by `database.forTenant`, and by `transaction`: `em` is the unit of work of a savepoint. */
  constructor(
    tenantId: string,
    source: TenantSource,
    transaction?: ControlledTransaction<unknown>,
    em?: SqlEntityManager,
  ) {
    this.tenantId = tenantId;
    this.#source = source;
    this.#transaction = transaction;
    this.#em = em;
  }

  /** The rows that match. Without `limit` all of them: ask for all only where their number is bounded. */
  async find<
    E extends object,
    Hint extends string = never,
    Fields extends string = never,
    Excludes extends string = never,
  >(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    options?: TenantFindOptions<E, Hint, Fields, Excludes>,
  ): Promise<Loaded<E, Hint, Fields, Excludes>[]> {
    this.#readable(entity, where);
    return this.#unit.find<E, Hint, Fields, Excludes>(
      entity,
      where,
      findOptions(this.#property(entity), options),
    );
  }

  /** The first row that matches, or `null`. */
  async findOne<
    E extends object,
    Hint extends string = never,
    Fields extends string = never,
    Excludes extends string = never,
  >(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    options?: Omit<TenantFindOptions<E, Hint, Fields, Excludes>, 'limit'>,
  ): Promise<Loaded<E, Hint, Fields, Excludes> | null> {
    this.#readable(entity, where);
    return this.#unit.findOne<E, Hint, Fields, Excludes>(
      entity,
      where,
      findOptions(this.#property(entity), options),
    );
  }

  /** The first row that matches; throws `otherwise()`, or `database.not-found`, when there is none. */
  async findOneOrFail<
    E extends object,
    Hint extends string = never,
    Fields extends string = never,
    Excludes extends string = never,
  >(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    options: Omit<TenantFindOptions<E, Hint, Fields, Excludes>, 'limit'> & { otherwise?: () => Error } = {},
  ): Promise<Loaded<E, Hint, Fields, Excludes>> {
    const { otherwise = DatabaseErrors.notFound, ...rest } = options;
    const row = await this.findOne<E, Hint, Fields, Excludes>(entity, where, rest);
    if (row === null) throw otherwise();
    return row;
  }

  /** One page and the number of all rows that match. */
  async findAndCount<
    E extends object,
    Hint extends string = never,
    Fields extends string = never,
    Excludes extends string = never,
  >(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    options?: TenantFindOptions<E, Hint, Fields, Excludes>,
  ): Promise<[Loaded<E, Hint, Fields, Excludes>[], number]> {
    this.#readable(entity, where);
    return this.#unit.findAndCount<E, Hint, Fields, Excludes>(
      entity,
      where,
      findOptions(this.#property(entity), options),
    );
  }

  /**
   * The rows that match, as plain objects of the caller's own: for lists that are only read, at a tenth of the cost of `find`. They
   * show the database, without what the unit of work has not written yet. Only for entities of plain columns, and for simple
   * conditions; throws a `DatabaseDefect` for any other.
   */
  async rows<E extends object, Field extends keyof E & string = keyof E & string>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    query: RowsQuery<NoInfer<E>, Field>,
  ): Promise<Pick<E, Field>[]> {
    this.#readable(entity, where);
    refuseRawSql(query.orderBy);
    const bound = { [this.#property(entity)]: this.tenantId };
    const meta = this.#source.metadata(entity);
    const found = await this.#source.plainRows.select(meta, bound, where, query as never, this.#place);
    return found as Pick<E, Field>[];
  }

  /** How many rows match. */
  async count<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>> = {} as never,
  ): Promise<number> {
    this.#readable(entity, where);
    return this.#unit.count(entity, where);
  }

  /** Sums and counts of rows, grouped by properties. */
  async aggregate<
    E extends object,
    By extends keyof E & string = never,
    Sum extends keyof E & string = never,
  >(entity: EntityName<E>, query: AggregateQuery<E, By, Sum>): Promise<AggregateRow<E, By, Sum>[]> {
    this.#readable(entity, query.where);
    return aggregate(this.#unit, entity, query, { [this.#property(entity)]: this.tenantId });
  }

  /** A new entity of the tenant, written by the next `flush` (or the end of the transaction). */
  create<E extends object>(entity: EntityName<E>, data: TenantData<E>): E {
    return this.#unit.create(entity, this.#row(entity, data) as never);
  }

  /** Has the next `flush` write an entity. */
  persist(entity: object): void {
    this.#own(entity);
    this.#unit.persist(entity);
  }

  /** Has the next `flush` delete an entity. */
  remove(entity: object): void {
    this.#own(entity);
    this.#unit.remove(entity);
  }

  /** Writes all changes of the unit of work, in one transaction. */
  async flush(): Promise<void> {
    await this.#em?.flush();
  }

  /** Forgets every loaded and unwritten entity. For long loops. */
  clear(): void {
    this.#em?.clear();
  }

  /** Writes one row at once, past the unit of work. */
  async insert<E extends object>(entity: EntityName<E>, data: TenantData<E>): Promise<void> {
    await this.insertMany(entity, [data]);
  }

  /** Writes rows at once, in one statement, past the unit of work; past MikroORM too where the entity and the values are plain. */
  async insertMany<E extends object>(entity: EntityName<E>, data: readonly TenantData<E>[]): Promise<void> {
    if (data.length === 0) return;
    const rows = data.map((row) => this.#row(entity, row));
    if (await this.#source.plainRows.insert(this.#source.metadata(entity), rows, this.#place)) return;
    await this.#verifyReferences(entity, rows);
    await this.#unit.insertMany(entity, rows as never);
  }

  /**
   * Writes a row, or, where `conflict` (a unique key, to which the tenant is added by itself) finds one, updates it. One
   * statement that cannot lose a race. Loaded entities are not refreshed.
   */
  async upsert<E extends object>(
    entity: EntityName<E>,
    data: TenantData<E>,
    options: UpsertOptions<E>,
  ): Promise<void> {
    const row = this.#row(entity, data);
    await this.#verifyReferences(entity, [row]);
    await upsert(this.#unit, this.#source.metadata(entity), row, options, this.#source.isMySql);
  }

  /** Changes all rows that match, at once; returns how many matched. Loaded entities are not refreshed. As cheap as `insertMany`. */
  async update<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    data: EntityData<NoInfer<E>>,
  ): Promise<number> {
    this.#writable(entity, where);
    this.#assertProperties(entity, data);
    refuseRawSql(data);
    if (TENANT_PROPERTY in data && tenantOf(data) !== this.tenantId) this.#refuse(entity);
    const bound = { [TENANT_PROPERTY]: this.tenantId };
    const meta = this.#source.metadata(entity);
    const { plainRows } = this.#source;
    const matched = await plainRows.update(meta, bound, where, data as Row, this.#place);
    if (matched !== undefined) return matched;
    await this.#verifyReferences(entity, [data]);
    return this.#unit.nativeUpdate(entity, where, data);
  }

  /** Adds to numbers of all rows that match, in the database, so that no addition is lost; returns how many matched. */
  async increment<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    amounts: { readonly [K in keyof NoInfer<E>]?: number },
    also: EntityData<NoInfer<E>> = {},
  ): Promise<number> {
    this.#writable(entity, where);
    this.#assertProperties(entity, amounts);
    this.#assertProperties(entity, also);
    refuseRawSql(also);
    if (TENANT_PROPERTY in also || TENANT_PROPERTY in amounts) this.#refuse(entity);
    const properties: Readonly<Record<string, EntityProperty>> = this.#source.metadata(entity).properties;
    const sums = Object.entries(amounts).map(([name, amount]) => {
      const field = properties[name] as EntityProperty;
      return [name, raw('?? + ?', [field.fieldNames[0], Number(amount)])];
    });
    return this.#unit.nativeUpdate(entity, where, { ...also, ...Object.fromEntries(sums) });
  }

  /** Deletes all rows that match, at once; returns how many. */
  async delete<E extends object>(entity: EntityName<E>, where: FilterQuery<NoInfer<E>>): Promise<number> {
    this.#writable(entity, where);
    return this.#unit.nativeDelete(entity, where);
  }

  /** Locks the row of a loaded entity until the transaction ends. Throws outside a transaction. */
  async lock(entity: object, mode: LockMode): Promise<void> {
    this.#own(entity);
    await this.#unit.lock(entity, mode);
  }

  /**
   * Runs `work` in a transaction and a unit of work of its own: what it changes is flushed and committed when it returns, and
   * rolled back when it throws. Entities that were loaded outside are not part of it: read inside what you change. Inside a
   * transaction it makes a savepoint, whose failure alone is undone. `work` may wait for nothing but the database.
   */
  async transaction<T>(
    work: (tenant: TenantEntityManager) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { retries = 0, isolation } = options;
    const isSavepoint = this.#openTransaction !== undefined;
    if (isSavepoint && retries > 0) {
      throw new DatabaseDefect(
        'second-connection',
        'A savepoint cannot be retried: the whole transaction has lost the race',
      );
    }
    if (isSavepoint) {
      return this.#unit.transactional(
        (unit) => work(new TenantEntityManager(this.tenantId, this.#source, undefined, unit)),
        { clear: true, isolationLevel: isolation },
      );
    }
    return withRetries(retries, () =>
      this.#source.begin(this.tenantId, isolation, async (transaction) => {
        const inside = new TenantEntityManager(this.tenantId, this.#source, transaction);
        const result = await work(inside);
        await inside.flush();
        return result;
      }),
    );
  }

  /** MikroORM's entity manager underneath, for the database that made this one. */
  unitOfWork(source: TenantSource): SqlEntityManager {
    if (source !== this.#source)
      throw new DatabaseDefect('not-registered', 'Another database made this entity manager');
    return this.#unit;
  }

  get #unit(): SqlEntityManager {
    this.#em ??= this.#source.fork(this.tenantId, this.#transaction);
    return this.#em;
  }

  /** The transaction or savepoint that is open here. */
  get #openTransaction(): ControlledTransaction<unknown> | undefined {
    return this.#transaction ?? this.#em?.getTransactionContext();
  }

  get #place(): Place {
    return this.#source.place(this.tenantId, this.#openTransaction);
  }

  #property(entity: AnyEntityName): string {
    return this.#source.tenancies.tenantProperty(Utils.className(entity));
  }

  #readable(entity: AnyEntityName, where: unknown): void {
    this.#property(entity);
    refuseRawSql(where);
  }

  #writable(entity: AnyEntityName, where: unknown): void {
    this.#source.tenancies.assertWritable(Utils.className(entity));
    refuseRawSql(where);
  }

  /** MikroORM would take an unknown name for a column, and `tenant_id` so past the check of `tenantId`. */
  #assertProperties(entity: AnyEntityName, data: object): void {
    const { properties, className } = this.#source.metadata(entity);
    for (const name of Object.keys(data)) {
      if (Object.hasOwn(properties, name)) continue;
      throw new DatabaseDefect('unknown-property', `${className} has no property ${name}`);
    }
  }

  /** A row with its tenant. */
  #row<E extends object>(entity: EntityName<E>, data: TenantData<E>): Record<string, unknown> {
    this.#writable(entity, data);
    this.#assertProperties(entity, data);
    const given = tenantOf(data);
    if (given !== undefined && given !== null && given !== this.tenantId) this.#refuse(entity);
    return { ...data, [TENANT_PROPERTY]: this.tenantId };
  }

  /** Throws unless an entity is of the tenant; a new one gets it. */
  #own(entity: object): void {
    const meta = helper(entity as AnyEntity)?.__meta;
    if (meta === undefined)
      throw new DatabaseDefect('not-registered', 'This is no entity: make it with create()');
    this.#source.tenancies.assertWritable(meta.className);
    const tenant = tenantOf(entity);
    if (tenant === undefined) (entity as Record<string, unknown>)[TENANT_PROPERTY] = this.tenantId;
    else if (tenant !== this.tenantId) this.#refuse(meta.className);
  }

  async #verifyReferences(entity: AnyEntityName, rows: readonly object[]): Promise<void> {
    const { relations } = this.#source.metadata(entity);
    if (relations.length === 0) return;
    const references = new References();
    for (const row of rows) references.add(relations as readonly EntityProperty[], row);
    await references.verify(this.#unit);
  }

  #refuse(entity: AnyEntityName | string): never {
    const name = typeof entity === 'string' ? entity : Utils.className(entity);
    throw new DatabaseDefect(
      'foreign-tenant',
      `This ${name} is not of the tenant to which the entity manager is bound`,
    );
  }
}
