import type { EntityMetadata } from '@mikro-orm/core';
import type { BoundStatement, FamilyDriver } from '../drivers/driver.ts';
import { DatabaseDefect } from '../errors.ts';
import type { Family } from '../family.ts';
import { RETRY_RACES, runAlone, withRetries } from '../retry.ts';
import { type Conditions, conditions } from './conditions.ts';
import { insertStatement } from './insert-statement.ts';
import { type PlainEntity, plainEntity } from './plain-entity.ts';
import {
  type Begin,
  type ReadyWrite,
  type RowWrite,
  runAsMessage,
  runInOrder,
  runUndoable,
} from './row-writes.ts';
import {
  countStatement,
  deleteSomeStatement,
  deleteStatement,
  type RowsQuery,
  type Selection,
  type Statement,
  selectStatement,
  updateStatement,
} from './statement.ts';
import { createStatementRunner, type Place } from './statement-runner.ts';
import { asTenantRange, type TenantQuery } from './tenant-range.ts';
import { searchStatements, type TextSearch } from './text-search.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * The short way of plain rows into the database and out of it: what is stored and what comes back is what MikroORM
 * would store and give, at a fraction of its time. It knows no tenants: `bound` is the condition that the caller binds
 * every statement with.
 */
export interface PlainRows {
  /** A write as one statement; undefined for an insert of no rows, and where only MikroORM can do it. */
  ready(meta: EntityMetadata, bound: Row, write: RowWrite): ReadyWrite | undefined;
  /** Runs one write; gives how many rows it wrote. */
  run(ready: ReadyWrite, place: Place): Promise<number>;
  /**
   * Runs writes in one transaction: the open one, or one of their own. False when one matched another number of rows
   * than it expects: in a transaction of their own everything is undone then.
   */
  together(ready: readonly ReadyWrite[], place: Place, begin: Begin): Promise<boolean>;
  /**
   * Deletes rows that match, in statements of bounded work: all of them, or `most`; gives how many. Undefined where
   * only MikroORM can do it.
   */
  erase(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    place: Place,
    most?: number,
  ): Promise<number | undefined>;
  /** Reads rows. Throws a `DatabaseDefect` for an entity or a condition that is not plain. */
  select(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    query: RowsQuery<unknown, never>,
    place: Place,
  ): Promise<Record<string, unknown>[]>;
  /**
   * Reads a page of rows, and how many there are in all; with `search` those that hold its text. Throws as `select`
   * does.
   */
  page(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    query: PageQuery<unknown, never>,
    place: Place,
  ): Promise<[Record<string, unknown>[], number]>;
}

/** Which page of rows. */
export interface PageQuery<E, Field extends keyof E & string = keyof E & string> extends RowsQuery<E, Field> {
  /** Only rows that hold this text. Needs an order. */
  readonly search?: TextSearch<E> | undefined;
}

/** Rows that one statement of an erasure deletes. */
const ERASED = 1_000;

/** Makes the short way over the connections of an ORM. */
export function createPlainRows({ orm, writeAtOnce }: FamilyDriver, family: Family): PlainRows {
  const { driver } = orm;
  const platform = driver.getPlatform();
  const { run, runFused, bind } = createStatementRunner(orm, family);
  const defaultSql = platform.usesDefaultKeyword() ? 'default' : undefined;
  const entities = new WeakMap<EntityMetadata, PlainEntity | 'other'>();

  const entityOf = (meta: EntityMetadata): PlainEntity | undefined => {
    let entity = entities.get(meta);
    if (entity === undefined) {
      entity = plainEntity(meta, platform) ?? 'other';
      entities.set(meta, entity);
    }
    return entity === 'other' ? undefined : entity;
  };

  const toBound = ({ statement, expect }: ReadyWrite): BoundStatement => ({ ...bind(statement), expect });

  /** The entity, what its rows have to meet, and their order. */
  const chosen = (meta: EntityMetadata, where: unknown, asked: TenantQuery) => {
    const entity = entityOf(meta);
    if (entity === undefined) refuse(`${meta.className} has more than plain columns: read it with find`);
    const { bound, query } = family === 'mysql' ? asTenantRange(meta, where, asked) : asked;
    const both = bothConditions(entity, bound, where);
    if (both === undefined) {
      refuse(`Rows of ${meta.className} are chosen by simple conditions alone: see PlainWhere, or use find`);
    }
    return { entity, both, query };
  };

  const read = async (meta: EntityMetadata, { statement, columns }: Selection, place: Place) => {
    const { rows } = await run(statement, place);
    return rows.map((stored) => {
      const mapped = driver.mapResult(stored as never, meta) as Record<string, unknown>;
      const row: Record<string, unknown> = {};
      for (const { name, toEntity } of columns) row[name] = toEntity(mapped[name]);
      return row;
    });
  };

  /**
   * Whether a delete of some rows may have left rows that match: on PostgreSQL those that another transaction changed
   * meanwhile.
   */
  const passesOver = async (entity: PlainEntity, both: readonly Conditions[], place: Place) => {
    if (family !== 'postgres') return false;
    const fields = entity.keys.map(({ name }) => name) as never[];
    const { statement } = selectStatement<unknown>(entity, both, { fields, limit: 1 });
    return (await run(statement, place)).rows.length > 0;
  };

  /** Runs a statement that writes; how many rows it changed. */
  const change = async (statement: Statement, place: Place): Promise<number> => {
    const once = () => run(statement, place);
    const { numAffectedRows } = await (place.transaction === undefined ? runAlone(once) : once());
    return Number(numAffectedRows ?? 0);
  };

  return {
    ready(meta, bound, write) {
      const entity = entityOf(meta);
      if (entity === undefined) return undefined;
      if (write.kind === 'insert') {
        const statement = insertStatement(entity, write.rows, defaultSql, bound);
        return statement && { statement, expect: undefined };
      }
      const where = bothConditions(entity, bound, write.where);
      const statement =
        where &&
        (write.kind === 'delete'
          ? deleteStatement(entity, where)
          : updateStatement(entity, write.data as Row, where));
      return statement && { statement, expect: write.expect };
    },

    run: ({ statement }, place) => change(statement, place),

    async together(ready, place, begin) {
      if (ready.length === 0) return true;
      if (place.transaction !== undefined) return runInOrder(run, ready, place);
      // It holds the only lock before it writes, and has waited for that for the longest time that is allowed.
      if (writeAtOnce !== undefined) return writeAtOnce(ready.map(toBound));
      return withRetries(RETRY_RACES.retries, () =>
        family === 'postgres' ? runAsMessage(runFused, ready, place) : runUndoable(run, ready, begin),
      );
    },

    async erase(meta, bound, where, place, most = Infinity) {
      const entity = entityOf(meta);
      const both = entity && bothConditions(entity, bound, where);
      if (entity === undefined || both === undefined) return undefined;
      for (let erased = 0; ; ) {
        const asked = Math.min(ERASED, most - erased);
        const statement = deleteSomeStatement(family, entity, both, asked);
        const count = await change(statement, place);
        erased += count;
        if (erased >= most || (count < asked && !(await passesOver(entity, both, place)))) return erased;
      }
    },

    async select(meta, bound, where, asked, place) {
      const { entity, both, query } = chosen(meta, where, { bound, query: asked });
      return read(meta, selectStatement(entity, both, query), place);
    },

    async page(meta, bound, where, { search, ...asked }, place) {
      const { entity, both, query } = chosen(meta, where, { bound, query: asked });
      const { count, ...selection } =
        search === undefined
          ? { ...selectStatement(entity, both, query), count: countStatement(entity, both) }
          : searchStatements<unknown>(family, entity, both, search, query);
      const rows = await read(meta, selection, place);
      const [counted] = (await run(count, place)).rows;
      return [rows, Number(counted?.found)];
    },
  };
}

/** Undefined where one of them is not simple. */
function bothConditions(entity: PlainEntity, bound: Row, where: unknown): readonly Conditions[] | undefined {
  const both = [conditions(entity, bound), conditions(entity, where)];
  return both.every((one) => one !== undefined) ? both : undefined;
}

function refuse(message: string): never {
  throw new DatabaseDefect('plain-rows', message);
}
