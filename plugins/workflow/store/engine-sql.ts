import type { Database } from 'agent-gateway';
import type { Kysely, RawBuilder } from 'kysely';

/** Statements over all tenants. Only for what the engine does for itself: whose turn it is, who is alive, what is to be delivered. */
export type EngineSql = <Row>(
  statement: RawBuilder<Row>,
) => Promise<{ readonly rows: Row[]; readonly changed: number }>;

/**
 * Runs statements past the binding to a tenant: runs of all tenants share the workers, and no tenant asks for any of this or sees
 * it. Each statement is a transaction of its own.
 */
export function createEngineSql(database: Pick<Database, 'system'>): EngineSql {
  return async (statement) => {
    const result = await statement.execute(database.system().getKysely() as Kysely<unknown>);
    return { rows: result.rows, changed: Number(result.numAffectedRows ?? 0) };
  };
}
