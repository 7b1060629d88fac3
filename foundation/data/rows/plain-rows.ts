import type { EntityMetadata } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import { DatabaseDefect } from '../errors.ts';
import type { Family } from '../family.ts';
import { conditions } from './conditions.ts';
import { insertStatement } from './insert-statement.ts';
import { type PlainEntity, plainEntity } from './plain-entity.ts';
import { type ReadyWrite, type RowWrite, runAsMessage, runInOrder } from './row-writes.ts';
import { type RowsQuery, selectStatement, updateStatement } from './statement.ts';
import { createStatementRunner, type Place } from './statement-runner.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * The short way of plain rows into the database and out of it: what is stored and what comes back is what MikroORM would store and
 * give, at a fraction of its time. It knows no tenants: `bound` is the condition that the caller binds every statement with.
 */
export interface PlainRows {
  /** Writes the rows in one statement; false, and nothing is written, where only MikroORM can. */
  insert(meta: EntityMetadata, rows: readonly Row[], place: Place): Promise<boolean>;
  /** Changes the rows that match; gives how many, or undefined, and nothing is changed, where only MikroORM can. */
  update(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    data: Row,
    place: Place,
  ): Promise<number | undefined>;
  /**
   * Makes a write ready for `together`; undefined for an insert of no rows.
   *
   * Throws a `DatabaseDefect` where only MikroORM can do it.
   */
  ready(meta: EntityMetadata, bound: Row, write: RowWrite): ReadyWrite | undefined;
  /**
   * Runs writes in one transaction: the open one, or one of their own. False when one matched another number of rows than it expects: in a
   * transaction of their own everything is undone then.
   */
  together(ready: readonly ReadyWrite[], place: Place, begin: Begin): Promise<boolean>;
  /** Reads rows. Throws a `DatabaseDefect` for an entity or a condition that is not plain. */
  select(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    query: RowsQuery<unknown, never>,
    place: Place,
  ): Promise<Record<string, unknown>[]>;
}

/** Runs `work` in a transaction of its own, which is undone when it throws. */
export type Begin = (work: (place: Place) => Promise<void>) => Promise<void>;

/** Undoes a transaction whose writes did not match. */
const UNDO = Symbol('undo');

/** Makes the short way over the connections of an ORM. */
export function createPlainRows(orm: MikroORM, family: Family): PlainRows {
  const { driver } = orm;
  const platform = driver.getPlatform();
  const { run, runFused } = createStatementRunner(orm, family);
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

  return {
    async insert(meta, rows, place) {
      const entity = entityOf(meta);
      const statement = entity && insertStatement(entity, rows, defaultSql);
      if (statement === undefined) return false;
      await run(statement, place);
      return true;
    },

    async update(meta, bound, where, data, place) {
      const entity = entityOf(meta);
      const both = entity && [conditions(entity, bound), conditions(entity, where)];
      if (!both?.every((one) => one !== undefined)) return undefined;
      const statement = updateStatement(entity as PlainEntity, data, both);
      if (statement === undefined) return undefined;
      return Number((await run(statement, place)).numAffectedRows ?? 0);
    },

    ready(meta, bound, write) {
      const entity = entityOf(meta);
      if (entity === undefined) refuse(`${meta.className} has more than plain columns: write it alone`);
      if (write.kind === 'insert') {
        if (write.rows.length === 0) return undefined;
        const statement = insertStatement(entity, write.rows, defaultSql, bound);
        if (statement === undefined) refuse(`A row of ${meta.className} has a value that is not plain`);
        return { statement, expect: undefined };
      }
      const both = [conditions(entity, bound), conditions(entity, write.where)];
      const isPlain = both.every((one) => one !== undefined);
      const statement = isPlain ? updateStatement(entity, write.data as Row, both) : undefined;
      if (statement === undefined) refuse(`A change of ${meta.className} is not plain, or empty`);
      return { statement, expect: write.expect };
    },

    async together(ready, place, begin) {
      if (ready.length === 0) return true;
      if (place.transaction !== undefined) return runInOrder(run, ready, place);
      if (family === 'postgres') return runAsMessage(runFused, ready, place);
      try {
        await begin(async (inside) => {
          if (!(await runInOrder(run, ready, inside))) throw UNDO;
        });
        return true;
      } catch (reason) {
        if (reason === UNDO) return false;
        throw reason;
      }
    },

    async select(meta, bound, where, query, place) {
      const entity = entityOf(meta);
      if (entity === undefined) refuse(`${meta.className} has more than plain columns: read it with find`);
      const both = [conditions(entity, bound), conditions(entity, where)];
      if (!both.every((one) => one !== undefined)) {
        refuse(
          `Rows of ${meta.className} are chosen by simple conditions alone: see PlainWhere, or use find`,
        );
      }
      const { statement, columns } = selectStatement(entity, both, query);
      const { rows } = await run(statement, place);
      return rows.map((stored) => {
        const mapped = driver.mapResult(stored as never, meta) as Record<string, unknown>;
        const row: Record<string, unknown> = {};
        for (const { name, toEntity } of columns) {
          const value = mapped[name];
          row[name] = value === null || value === undefined ? null : toEntity(value);
        }
        return row;
      });
    },
  };
}

function refuse(message: string): never {
  throw new DatabaseDefect('plain-rows', message);
}
