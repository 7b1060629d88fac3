import { sql } from 'kysely';
import type { LockSql } from '../locks/lock-sql.ts';
import type { TicketPlace } from './permit-store.ts';

/** Places that are made at one time. */
const BATCH = 32;
/** Milliseconds after the last use of a place at which its row may go. */
const REMEMBERED_MS = 3_600_000;
/** Rows of one statement of a sweep, and statements of one sweep; what is left is for the next. */
const SWEEP = { batch: 500, batches: 200 };

/** Makes the next places under a key, below its limit. That others make the same ones at the same time does no harm. */
export async function addPlaces(db: LockSql, { key, limit }: TicketPlace): Promise<void> {
  const { rows } = await db.run(
    sql<{ slot: number }>`select slot from kernel_permits where permit_key = ${key} and slot < ${limit}`,
  );
  const known = new Set(rows.map(({ slot }) => Number(slot)));
  const missing: number[] = [];
  for (let slot = 0; slot < limit && missing.length < BATCH; slot += 1)
    if (!known.has(slot)) missing.push(slot);
  if (missing.length === 0) return;
  const made = missing.map((slot) => sql`(${key}, ${slot}, null, '', '', 0, ${db.now()})`);
  const keep =
    db.family === 'mysql'
      ? sql`on duplicate key update slot = kernel_permits.slot`
      : sql`on conflict do nothing`;
  await db.run(sql`insert into kernel_permits (permit_key, slot, name, ticket, note, revoked, expires_at)
    values ${sql.join(made)} ${keep}`);
}

/** Deletes places that nobody has held for an hour; they are made anew when they are needed. */
export async function sweepPlaces(db: LockSql): Promise<void> {
  const isOld = sql`expires_at < ${db.now()} - ${REMEMBERED_MS * 1_000}`;
  for (let batch = 0; batch < SWEEP.batches; batch += 1) {
    const { rows } = await db.run(
      sql<{ permit_key: string; slot: number }>`select permit_key, slot from kernel_permits where ${isOld}
        limit ${SWEEP.batch}`,
    );
    if (rows.length === 0) return;
    const places = sql.join(rows.map(({ permit_key, slot }) => sql`(${permit_key}, ${slot})`));
    // The condition again: a place of the list may have been taken meanwhile.
    await db.run(
      sql`delete from kernel_permits where ${isOld} and (permit_key, slot) in (${
        db.family === 'sqlite' ? sql`values ${places}` : places
      })`,
    );
    if (rows.length < SWEEP.batch) return;
  }
}
