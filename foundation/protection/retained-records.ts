import type { EntityName, EntitySchema } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { FormOf } from '../code/contribution-form.ts';
import type { Database, PlainWhere } from '../data/database.ts';

/**
 * Records of tenants that grow without end, and may go when they are old. How long they are kept is decided by the
 * operator and by each tenant's administration; a plugin says only what there is, and deletes.
 */
export interface RetainedRecords {
  /** The plural noun of the plugin's own list, `[a-z][a-z0-9_]{0,63}`; once in the deployment. */
  readonly name: string;
  /**
   * For administrators: what they are, from when on their age counts, and what goes with them. One sentence without a
   * full stop.
   */
  readonly summary: string;
  /**
   * Milliseconds for which they are kept where neither the operator nor the tenant has decided. Never for what users
   * wrote: absent, they are kept for good.
   */
  readonly keptFor?: number;
  /**
   * Whether each process has records of its own, in memory or in a file, which no other process can delete; default:
   * they are in the gateway's database.
   */
  readonly ofProcess?: boolean;
  /** How many there are, by tenant; tenants without any may be missing. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** How many a tenant has; with `before` those that are older. */
  count(tenantId: string, before?: Date): Promise<number>;
  /**
   * Deletes those that are older, in batches of bounded work, each a transaction of its own. Says after each how many
   * it deleted, so that the caller can let others go first; a caller that goes no further leaves the rest. Called
   * again, it deletes the rest.
   *
   * @throws the signal's reason when it aborts
   */
  deleteBefore(tenantId: string, before: Date, signal: AbortSignal): AsyncIterable<number>;
}

/** What is asked of each contribution. */
export const RETAINED_RECORDS: FormOf<RetainedRecords> = {
  name: 'text',
  summary: 'text',
  keptFor: 'any?',
  ofProcess: 'any?',
  sizes: 'function',
  count: 'function',
  deleteBefore: 'function',
};

/** Rows of one table, each of which is deleted on its own. */
export interface RetainedTable<E extends object>
  extends Pick<RetainedRecords, 'name' | 'summary' | 'keptFor'> {
  readonly entity: EntitySchema<E>;
  /** The rows that are older; by an index that begins with the tenant. */
  readonly older: (before: Date) => PlainWhere<E>;
}

/** Rows that one statement deletes. */
const BATCH = 500;

/** The rows of a table as retained records, for a table of plain columns on which nothing else hangs. */
export function retainedRows<E extends object>(
  database: Pick<Database, 'forTenant' | 'system'>,
  { entity, older, ...kind }: RetainedTable<E>,
): RetainedRecords {
  return {
    ...kind,
    sizes: () => rowsByTenant(database, entity),
    count: (tenantId, before) =>
      database.forTenant(tenantId).count(entity, (before === undefined ? {} : older(before)) as never),
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      for (;;) {
        signal.throwIfAborted();
        const deleted = await entities.erase(entity, older(before) as never, BATCH);
        yield deleted;
        if (deleted < BATCH) return;
      }
    },
  };
}

/** How many rows of a table each tenant has, counted by the database. */
export async function rowsByTenant<E extends object>(
  database: Pick<Database, 'system'>,
  entity: EntityName<E>,
): Promise<ReadonlyMap<string, number>> {
  const system = database.system();
  const { tableName } = system.getMetadata().get(entity);
  const { rows } = await sql<{ readonly tenant: string; readonly found: number | string | bigint }>`
    select tenant_id as tenant, count(*) as found from ${sql.table(tableName)} group by tenant_id`.execute(
    system.getKysely(),
  );
  return new Map(rows.map(({ tenant, found }) => [tenant, Number(found)]));
}
