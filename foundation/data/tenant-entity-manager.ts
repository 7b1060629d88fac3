import {
  type EntityData,
  type EntityName,
  type EntityProperty,
  type FilterQuery,
  type Loaded,
  raw,
} from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ControlledTransaction } from 'kysely';
import { afterCommit } from './after-commit.ts';
import {
  type AggregateQuery,
  type AggregateRow,
  aggregate,
  type UpsertOptions,
  upsert,
} from './built-statements.ts';
import { DatabaseDefect, DatabaseErrors } from './errors.ts';
import { runAlone, withRetries } from './retry.ts';
import type { PlainWhere } from './rows/conditions.ts';
import type { PageQuery } from './rows/plain-rows.ts';
import type { RowWrite } from './rows/row-writes.ts';
import type { RowsQuery } from './rows/statement.ts';
import type { Place } from './rows/statement-runner.ts';
import type { TenantData } from './tenancy.ts';
import {
  type TenantFindOptions,
  TenantRules,
  type TransactionOptions,
  type WriteOptions,
} from './tenant-rules.ts';
import type { TenantSource } from './tenant-source.ts';

/**
 * An entity manager that sees one tenant and no other, on every family: reads carry the tenant, writes set it and
 * refuse another one, entities that belong to no tenant are refused. Only tenant-owned entities pass; raw SQL does not.
 *
 * What is read is a copy of the caller's own: a change of it changes nothing in the database, `update` does. Each read
 * asks the database.
 *
 * Every method throws a `DatabaseDefect` when code tries to leave the tenant.
 */
export class TenantEntityManager {
  readonly tenantId: string;
  readonly #source: TenantSource;
  readonly #rules: TenantRules;
  readonly #transaction: ControlledTransaction<unknown> | undefined;
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
    this.#rules = new TenantRules(tenantId, source);
    this.#transaction = transaction;
    this.#em = em;
  }

  /**
   * The rows that match. Without `limit` all of them, where they are at most 10,000; more throw a `DatabaseDefect`,
   * since to make them into objects would stop the whole gateway for seconds. Of a table that grows read a page, or
   * each row (`eachRow`).
   */
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
    const asked = this.#rules.listOptions(entity, where, options);
    const found: Loaded<E, Hint, Fields, Excludes>[] = await this.#orm.find(entity, where, asked);
    return this.#rules.allOf(entity, found, options);
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
    return this.#orm.findOne(entity, where, this.#rules.readOptions(entity, where, options));
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

  /** One page, as `find` gives it, and the number of all rows that match. */
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
    const asked = this.#rules.listOptions(entity, where, options);
    const page: [Loaded<E, Hint, Fields, Excludes>[], number] = await this.#orm.findAndCount(
      entity,
      where,
      asked,
    );
    return [this.#rules.allOf(entity, page[0], options), page[1]];
  }

  /**
   * The rows that match, as plain objects, at a tenth of the cost of `find`. Only for entities of plain columns, and
   * for simple conditions; throws a `DatabaseDefect` for any other.
   */
  async rows<E extends object, Field extends keyof E & string = keyof E & string>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    query: RowsQuery<NoInfer<E>, Field>,
  ): Promise<Pick<E, Field>[]> {
    const bound = this.#rules.assertReadable(entity, where, query.orderBy);
    const meta = this.#source.metadata(entity);
    const found = await this.#source.plainRows.select(meta, bound, where, query as never, this.#place);
    return found as Pick<E, Field>[];
  }

  /**
   * One page of the rows that match, as `rows` gives them, and the number of all. With `search` only rows that hold its
   * text, among the first 10,000 (`SEARCHED_RECORDS`) that match.
   */
  async page<E extends object, Field extends keyof E & string = keyof E & string>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    query: PageQuery<NoInfer<E>, Field>,
  ): Promise<[Pick<E, Field>[], number]> {
    const bound = this.#rules.assertReadable(entity, where, query.orderBy);
    const meta = this.#source.metadata(entity);
    return this.#source.plainRows.page(meta, bound, where, query as never, this.#place) as never;
  }

  /** How many rows match. */
  async count<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>> = {} as never,
  ): Promise<number> {
    this.#rules.assertReadable(entity, where);
    return this.#orm.count(entity, where);
  }

  /** Sums and counts of rows, grouped by properties. */
  async aggregate<
    E extends object,
    By extends keyof E & string = never,
    Sum extends keyof E & string = never,
  >(entity: EntityName<E>, query: AggregateQuery<E, By, Sum>): Promise<AggregateRow<E, By, Sum>[]> {
    const bound = this.#rules.assertReadable(entity, query.where);
    return aggregate(this.#orm, entity, query, bound);
  }

  /** Writes one row. */
  async insert<E extends object>(entity: EntityName<E>, data: TenantData<E>): Promise<void> {
    await this.insertMany(entity, [data]);
  }

  /** Writes rows in one statement; past MikroORM where the entity and the values are plain. */
  async insertMany<E extends object>(entity: EntityName<E>, data: readonly TenantData<E>[]): Promise<void> {
    if (data.length === 0) return;
    const ready = this.#rules.ready({ kind: 'insert', entity: entity as EntityName<object>, rows: data });
    if (ready !== undefined) return void (await this.#source.plainRows.run(ready, this.#place));
    const rows = data.map((row) => this.#rules.row(entity, row));
    await this.#rules.verifyReferences(this.#orm, entity, rows);
    await this.#orm.insertMany(entity, rows as never);
  }

  /**
   * Writes a row, or, where `conflict` (a unique key, to which the tenant is added automatically) finds one, updates
   * it. One statement that cannot lose a race.
   */
  async upsert<E extends object>(
    entity: EntityName<E>,
    data: TenantData<E>,
    options: UpsertOptions<E>,
  ): Promise<void> {
    const row = this.#rules.row(entity, data);
    await this.#rules.verifyReferences(this.#orm, entity, [row]);
    await upsert(this.#orm, this.#source.metadata(entity), row, options, this.#source.isMySql);
  }

  /** Changes all rows that match; returns how many matched. As cheap as `insertMany`. */
  async update<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    data: EntityData<NoInfer<E>>,
  ): Promise<number> {
    const write = { kind: 'update', entity, where, data, expect: undefined } as unknown as RowWrite;
    const ready = this.#rules.ready(write);
    if (ready !== undefined) return this.#source.plainRows.run(ready, this.#place);
    await this.#rules.verifyReferences(this.#orm, entity, [data]);
    return this.#change(() => this.#orm.nativeUpdate(entity, where, data));
  }

  /**
   * Does several writes in one transaction, all or none, and on PostgreSQL in one round trip: the cheapest way to
   * change plain rows that belong together. False, and nothing is written, when an update with `expect` matched another
   * number of rows.
   *
   * Inside a transaction the writes are part of it: after `false` roll it back, by throwing. Only for entities of plain
   * columns; throws a `DatabaseDefect` for any other.
   */
  async writeTogether(writes: readonly RowWrite[], options: WriteOptions = {}): Promise<boolean> {
    const { shareAs } = options;
    if (shareAs !== undefined) {
      return this.#source.groups.write({ tenantId: this.tenantId, key: shareAs, writes });
    }
    const ready = writes.flatMap((write) => this.#rules.readyTogether(write));
    const isWritten = await this.#source.plainRows.together(ready, this.#place, (work) =>
      this.#source.begin(this.tenantId, undefined, (transaction) =>
        work(this.#source.place(this.tenantId, transaction)),
      ),
    );
    if (!isWritten) return false;
    for (const write of writes) {
      if (write.kind === 'insert' && write.committed !== undefined) afterCommit(write.committed);
    }
    return true;
  }

  /** Adds to numbers of all rows that match, in the database, so that no addition is lost; returns how many matched. */
  async increment<E extends object>(
    entity: EntityName<E>,
    where: FilterQuery<NoInfer<E>>,
    amounts: { readonly [K in keyof NoInfer<E>]?: number },
    also: EntityData<NoInfer<E>> = {},
  ): Promise<number> {
    this.#rules.assertIncrementable(entity, where, amounts, also);
    const properties: Readonly<Record<string, EntityProperty>> = this.#source.metadata(entity).properties;
    const sums = Object.entries(amounts).map(([name, amount]) => {
      const field = properties[name] as EntityProperty;
      return [name, raw('?? + ?', [field.fieldNames[0], Number(amount)])];
    });
    const change = { ...also, ...Object.fromEntries(sums) };
    return this.#change(() => this.#orm.nativeUpdate(entity, where, change));
  }

  /** Deletes all rows that match, at once; returns how many. */
  async delete<E extends object>(entity: EntityName<E>, where: FilterQuery<NoInfer<E>>): Promise<number> {
    this.#rules.assertWritable(entity, where);
    return this.#change(() => this.#orm.nativeDelete(entity, where));
  }

  /**
   * Deletes rows that match, a thousand a statement: all of them, or `most`, whichever the database finds first;
   * returns how many. Those of entities that are not plain go at once.
   */
  async erase<E extends object>(
    entity: EntityName<E>,
    where: PlainWhere<NoInfer<E>>,
    most?: number,
  ): Promise<number> {
    this.#rules.assertWritable(entity, where);
    const meta = this.#source.metadata(entity);
    const erased = await this.#source.plainRows.erase(meta, this.#rules.bound, where, this.#place, most);
    return erased ?? this.delete(entity, where as FilterQuery<NoInfer<E>>);
  }

  /**
   * Runs `work` in a transaction: what it writes is committed when it returns, and rolled back when it throws. What has
   * to stay as it was read until then is read inside, with `lockMode`. Inside a transaction it makes a savepoint, whose
   * failure alone is undone. `work` may wait for nothing but the database.
   */
  async transaction<T>(
    work: (tenant: TenantEntityManager) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { retries = 0, isolation } = options;
    if (this.#open === undefined) {
      return withRetries(retries, () =>
        this.#source.begin(this.tenantId, isolation, (transaction) =>
          work(new TenantEntityManager(this.tenantId, this.#source, transaction)),
        ),
      );
    }
    if (retries > 0) {
      throw new DatabaseDefect(
        'second-connection',
        'A savepoint cannot be retried: the whole transaction has lost the race',
      );
    }
    return this.#orm.transactional(
      (em) => work(new TenantEntityManager(this.tenantId, this.#source, undefined, em)),
      { clear: true, isolationLevel: isolation },
    );
  }

  /** MikroORM's entity manager underneath, for the database that made this one. */
  unitOfWork(source: TenantSource): SqlEntityManager {
    if (source !== this.#source)
      throw new DatabaseDefect('not-registered', 'Another database made this entity manager');
    return this.#orm;
  }

  /**
   * MikroORM's unit of work. It costs as much as a statement, and what only writes and reads plain rows never needs it.
   */
  get #orm(): SqlEntityManager {
    this.#em ??= this.#source.fork(this.tenantId, this.#transaction);
    return this.#em;
  }

  /** The transaction or savepoint that is open here. */
  get #open(): ControlledTransaction<unknown> | undefined {
    return this.#transaction ?? this.#em?.getTransactionContext();
  }

  /** Runs a statement that writes through MikroORM; inside a transaction the transaction is what has to begin again. */
  #change(statement: () => Promise<number>): Promise<number> {
    return this.#open === undefined ? runAlone(statement) : statement();
  }

  /** Where plain statements run. */
  get #place(): Place {
    return this.#source.place(this.tenantId, this.#open);
  }
}
