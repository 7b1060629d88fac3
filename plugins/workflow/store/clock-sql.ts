import type { Database } from 'agent-gateway';
import { type RawBuilder, sql } from 'kysely';

/**
 * Milliseconds on the database's clock inside a statement: of its begin, so that an index can be searched with it. SQLite has none of
 * its own; there the machine's clock is everybody's.
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
