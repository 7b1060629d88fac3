import { isRaw, JsonProperty, type Platform, Utils } from '@mikro-orm/core';
import type { AbstractSqlConnection } from '@mikro-orm/sql';
import { CompiledQuery } from 'kysely';
import { isPlainValue, type PlainValue, sqliteBinding } from './values.ts';

/** Placeholders that SQLite takes in one statement. */
export const MAX_BINDINGS = 32_766;

type Execute = AbstractSqlConnection['execute'];

/**
 * Gives SQLite the values of MikroORM's statements as parameters, where MikroORM would write them into the text: no
 * value is ever read as SQL, and a statement is prepared once for all of its values.
 */
export function bindParameters(connection: AbstractSqlConnection, platform: Platform): void {
  const execute: Execute = connection.execute.bind(connection);
  connection.execute = ((query, params = [], ...rest: [...Tail]) => {
    const [method, transaction, context] = rest;
    if (typeof query !== 'string' || !Array.isArray(params)) return execute(query, params, ...rest);
    const bound = boundQuery(platform, query, params);
    // MikroORM makes a query of the text alone; the parameters come in where it hands that over.
    const binding = {
      executeQuery: (_: CompiledQuery, options: object) =>
        (transaction ?? connection.getClient()).executeQuery(bound, options),
    };
    return execute(bound.sql, [], method, binding as never, context);
  }) as Execute;
}

type Tail = Parameters<Execute> extends [unknown, unknown?, ...infer Rest] ? Rest : never;

/** The statement with a placeholder for each value; with the values as text where there are more than SQLite binds. */
function boundQuery(platform: Platform, query: string, params: readonly unknown[]): CompiledQuery {
  const bindings: unknown[] = [];
  const put = (value: unknown): string => {
    if (isRaw(value)) return placing.formatQuery(value.sql, value.params);
    if (Array.isArray(value) && !isJson(value)) return value.map(put).join(', ');
    const plain = isJson(value) ? JSON.stringify(value) : (value ?? null);
    if (!isPlainValue(plain)) return String(platform.quoteValue(plain));
    bindings.push(sqliteBinding(plain satisfies PlainValue));
    return '?';
  };
  // The one place at which MikroORM puts values into a text, here with placeholders instead.
  const placing: Platform = Object.create(platform, { quoteValue: { value: put } });
  const sql = placing.formatQuery(query, params);
  if (bindings.length <= MAX_BINDINGS) return CompiledQuery.raw(sql, bindings);
  return CompiledQuery.raw(platform.formatQuery(query, params));
}

/** True for what MikroORM writes as JSON. */
function isJson(value: unknown): boolean {
  return (
    Utils.isPlainObject(value) || (value as { [JsonProperty]?: boolean } | undefined)?.[JsonProperty] === true
  );
}
