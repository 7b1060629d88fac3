import { sql } from 'kysely';
import type { LockSql } from './lock-sql.ts';
import { REMEMBERED_MS } from './lock-store.ts';

/** Rows of one statement. */
const BATCH = 500;
/** Batches of one sweep; what is left is for the next. */
const BATCHES = 200;

/**
 * Deletes locks that nobody has held for ten minutes, and the tickets of processes that died while they waited. Until
 * then the row keeps the fence, so that it grows also when the database's clock goes back (a failover to another server).
 */
export async function sweepLocks(db: LockSql): Promise<void> {
  await sweep(db, 'kernel_locks', 'name');
  await sweep(db, 'kernel_lock_tickets', 'id');
}

async function sweep(db: LockSql, table: string, key: string): Promise<void> {
  const from = sql`${sql.table(table)} where expires_at < ${db.now()} - ${REMEMBERED_MS * 1_000}`;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const { rows } = await db.run(
      sql<{ id: string }>`select ${sql.ref(key)} as id from ${from} limit ${BATCH}`,
    );
    if (rows.length === 0) return;
    const ids = sql.join(rows.map(({ id }) => sql`${id}`));
    // The condition again: a lock of the list may have been taken meanwhile.
    await db.run(sql`delete from ${from} and ${sql.ref(key)} in (${ids})`);
    if (rows.length < BATCH) return;
  }
}
