import type { SessionContext } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import { CompiledQuery, type ControlledTransaction, type QueryResult } from 'kysely';
import type { Family } from '../family.ts';
import { type PlainValue, sqliteBinding } from './plain-value.ts';
import type { Put, Statement } from './statement.ts';

/** Placeholders that SQLite takes in one statement. */
const MAX_BINDINGS = 32_766;

/** Where a statement runs. */
export interface Place {
  /** The transaction to run in; without it the statement is one of its own. */
  readonly transaction: ControlledTransaction<unknown> | undefined;
  /** Role and tenant of a statement outside a transaction (PostgreSQL). */
  readonly session: SessionContext | undefined;
}

/** What a statement gave back. Stored values in `rows`, by column. */
export type Answer = Pick<QueryResult<Record<string, unknown>>, 'rows' | 'numAffectedRows'>;

/**
 * Runs statements on the connections of an ORM: under the same guard, with the same errors. SQLite gets placeholders, so that it
 * prepares a statement once; the servers get MikroORM's literals, which save PostgreSQL the round trip of a parametrised message.
 */
export function createStatementRunner(
  orm: MikroORM,
  family: Family,
): (statement: Statement, place: Place) => Promise<Answer> {
  const { driver } = orm;
  const connection = driver.getConnection();
  const platform = driver.getPlatform();
  const logger = orm.config.getLogger();
  // MikroORM leaves null as it is for its own concatenation.
  const literal: Put = (value) => String(platform.quoteValue(value));

  const compile = (statement: Statement): CompiledQuery => {
    if (family !== 'sqlite') return CompiledQuery.raw(statement(literal));
    const bindings: unknown[] = [];
    const bind = (value: PlainValue) => {
      bindings.push(sqliteBinding(value));
      return '?';
    };
    const text = statement(bind);
    return bindings.length > MAX_BINDINGS
      ? CompiledQuery.raw(statement(literal))
      : CompiledQuery.raw(text, bindings);
  };

  return async (statement, { transaction, session }) => {
    if (logger.isEnabled('query')) logger.logQuery({ level: 'info', query: statement(() => '?') });
    const query = compile(statement);
    try {
      if (transaction !== undefined) return (await transaction.executeQuery(query)) as Answer;
      if (session === undefined) return (await connection.getClient().executeQuery(query)) as Answer;
      return (await connection.transactional((single) => single.executeQuery(query), {
        sessionContext: session,
      })) as Answer;
    } catch (error) {
      throw driver.convertException(error as Error);
    }
  };
}
