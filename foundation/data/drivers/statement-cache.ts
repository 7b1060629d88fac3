import { LRUCache } from 'lru-cache';

/** What is used of better-sqlite3's `Database` and `Statement`. */
export interface PreparingDatabase {
  readonly inTransaction: boolean;
  prepare(sql: string): PreparedStatement;
}

interface PreparedStatement {
  /** True while a reader steps through its rows. */
  readonly busy: boolean;
  run(bindings: readonly unknown[]): { readonly changes: number };
}

/** Characters of SQL whose statements are kept, in all. */
const MAX_SQL = 1_000_000;
const CHANGES_SCHEMA = /^\s*(?:create|alter|drop|pragma|attach|detach|vacuum|reindex)\b/i;

/**
 * Lets `database` keep the statements that it has prepared: to prepare one costs more than to run it, and the gateway
 * prepares the same few again and again. What changes the schema is not kept, and forgets all others. Gives the same
 * for statements without rows, which no reader steps through: asking whether they are busy costs more than finding
 * them.
 */
export function keepStatements(database: PreparingDatabase): PreparingDatabase['prepare'] {
  const prepare = database.prepare.bind(database);
  const kept = new LRUCache<string, PreparedStatement>({
    maxSize: MAX_SQL,
    sizeCalculation: (_, sql) => sql.length,
  });
  const keep = (sql: string) => {
    if (CHANGES_SCHEMA.test(sql)) {
      kept.clear();
      return prepare(sql);
    }
    const statement = prepare(sql);
    kept.set(sql, statement);
    return statement;
  };
  database.prepare = (sql) => {
    const known = kept.get(sql);
    return known === undefined || known.busy ? keep(sql) : known;
  };
  return (sql) => kept.get(sql) ?? keep(sql);
}
