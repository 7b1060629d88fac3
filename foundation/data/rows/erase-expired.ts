import type { EntityName } from '@mikro-orm/core';
import type { Database } from '../database-port.ts';
import type { PlainWhere } from './conditions.ts';

/** Rows that one statement deletes. */
const BATCH = 500;
/** Statements of one sweep: the rest is for the next. */
const MAX_BATCHES = 10_000;

/**
 * Deletes the rows of all tenants that match, a batch after the other, so that others may write in between: for rows
 * that have expired, in a periodic task. Replicas that do it at the same time share the work. The signal ends it after
 * the batch under way.
 *
 * @example
 * scope.every('link-expiry', 600_000, (signal) =>
 *   eraseExpired(database, Link, { expiresAt: { $lte: new Date(clock.now()) } }, signal),
 * );
 */
export async function eraseExpired<E extends object>(
  database: Pick<Database, 'eraseOfAll'>,
  entity: EntityName<E>,
  where: PlainWhere<NoInfer<E>>,
  signal: AbortSignal,
): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch += 1) {
    if ((await database.eraseOfAll(entity, where, BATCH)) < BATCH) return;
  }
}
