import type { EntityMetadata } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import { DatabaseDefect } from '../errors.ts';
import type { Family } from '../family.ts';
import { conditions } from './conditions.ts';
import { insertStatement } from './insert-statement.ts';
import { type PlainEntity, plainEntity } from './plain-entity.ts';
import { type RowsQuery, selectStatement } from './select-statement.ts';
import { createStatementRunner, type Place } from './statement-runner.ts';
import { updateStatement } from './update-statement.ts';

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
  /** Reads rows. Throws a `DatabaseDefect` for an entity or a condition that is not plain. */
  select(
    meta: EntityMetadata,
    bound: Row,
    where: unknown,
    query: RowsQuery<unknown, never>,
    place: Place,
  ): Promise<Record<string, unknown>[]>;
}

/** Makes the short way over the connections of an ORM. */
export function createPlainRows(orm: MikroORM, family: Family): PlainRows {
  const { driver } = orm;
  const platform = driver.getPlatform();
  const run = createStatementRunner(orm, family);
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
