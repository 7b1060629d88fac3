import type { Database } from 'agent-gateway';
import { type Kysely, type RawBuilder, sql } from 'kysely';

/**
 * Statements over all tenants. Only for what the engine does for itself: whose turn it is, who is alive, what is to be
 * delivered.
 */
type EngineSql = <Row>(
  statement: RawBuilder<Row>,
) => Promise<{ readonly rows: Row[]; readonly changed: number }>;

/**
 * Runs statements past the binding to a tenant: runs of all tenants share the workers, and no tenant requests or sees
 * any of this. Each statement is a transaction of its own.
 */
export function createEngineSql(database: Pick<Database, 'system'>): EngineSql {
  return async (statement) => {
    const result = await statement.execute(database.system().getKysely() as Kysely<unknown>);
    return { rows: result.rows, changed: Number(result.numAffectedRows ?? 0) };
  };
}

/**
 * Milliseconds on the database's clock inside a statement: of its begin, so that an index can be searched with it.
 * SQLite has no clock of its own; there all processes share the machine's clock.
 */
export async function nowSql(database: Pick<Database, 'family' | 'now'>): Promise<RawBuilder<number>> {
  switch (database.family) {
    case 'postgres':
      return sql`floor(extract(epoch from statement_timestamp()) * 1000)::bigint`;
    case 'mysql':
      return sql`cast(unix_timestamp(now(3)) * 1000 as signed)`;
    case 'sqlite':
      return sql`${await database.now()}`;
  }
}
