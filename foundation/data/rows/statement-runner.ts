import type { SessionContext } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sql';
import { CompiledQuery, type ControlledTransaction, type QueryResult } from 'kysely';
import { MAX_BINDINGS } from '../drivers/bound-parameters.ts';
import type { BoundStatement } from '../drivers/driver.ts';
import { FusedStatements } from '../drivers/joining-client.ts';
import type { FusedStatement } from '../drivers/server-plans.ts';
import { type PlainValue, sqliteBinding } from '../drivers/values.ts';
import type { Family } from '../family.ts';
import type { Put } from './conditions.ts';
import { type Statement, templateOf } from './statement.ts';

/** Characters that a family's literals may write otherwise. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const SPECIAL = /[\0-\x1f'\\\x7f]/;

/** Where a statement runs. */
export interface Place {
  /** The transaction to run in; without it the statement is one of its own. */
  readonly transaction: ControlledTransaction<unknown> | undefined;
  /** Role and tenant of a statement outside a transaction (PostgreSQL). */
  readonly session: SessionContext | undefined;
}

/** What a statement gave back. Stored values in `rows`, by column. */
export type Answer = Pick<QueryResult<Record<string, unknown>>, 'rows' | 'numAffectedRows'>;

/** A statement as a driver runs it. */
type BoundText = Pick<BoundStatement, 'sql' | 'bindings'>;

/** Runs statements as one message, which is one transaction. Only PostgreSQL takes such. */
export type RunFused = (statements: readonly Statement[], place: Place) => Promise<Answer>;

/**
 * Runs statements on the connections of an ORM: under the same guard, with the same errors. SQLite gets placeholders,
 * so that it prepares a statement once; the servers get MikroORM's literals, which save PostgreSQL the round trip of a
 * parametrised message.
 */
export function createStatementRunner(orm: MikroORM, family: Family) {
  const { driver } = orm;
  const connection = driver.getConnection();
  const platform = driver.getPlatform();
  const logger = orm.config.getLogger();
  // MikroORM looks at a text character by character, and leaves null as it is for its own concatenation.
  const literal: Put = (value) =>
    typeof value === 'string' && !SPECIAL.test(value) && value.isWellFormed()
      ? `'${value}'`
      : String(platform.quoteValue(value));

  const compile = (statement: Statement): BoundText => {
    const template = family === 'sqlite' ? templateOf(statement, '?') : undefined;
    if (template === undefined || template.values.length > MAX_BINDINGS)
      return { sql: statement(literal), bindings: [] };
    return { sql: template.text, bindings: template.values.map(sqliteBinding) };
  };

  const fuse = (statement: Statement): FusedStatement => ({
    toText: () => statement(literal),
    toPlannable() {
      const template = templateOf(statement, '$');
      if (template === undefined || !template.values.every(isSameAsParameter)) return undefined;
      return { text: template.text, args: template.values.map(literal) };
    },
  });

  const execute = async (query: CompiledQuery, { transaction, session }: Place): Promise<Answer> => {
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

  const log = (statement: Statement) => {
    if (logger.isEnabled('query')) logger.logQuery({ level: 'info', query: statement(() => '?') });
  };

  const bind = (statement: Statement) => {
    log(statement);
    return compile(statement);
  };

  const runFused: RunFused = (statements, place) => {
    for (const statement of statements) log(statement);
    return execute(CompiledQuery.raw('', [new FusedStatements(statements.map(fuse))]), place);
  };

  return {
    /** The statement as the driver runs it. */
    bind,
    run: (statement: Statement, place: Place) => {
      const { sql, bindings } = bind(statement);
      return execute(CompiledQuery.raw(sql, [...bindings]), place);
    },
    runFused,
  };
}

/**
 * A parameter has the type of the column that it is compared with, a literal number has its own: rounded, or refused as
 * too large, it would be compared with something else.
 */
function isSameAsParameter(value: PlainValue): boolean {
  return typeof value !== 'number' || (value | 0) === value;
}
