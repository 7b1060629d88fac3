import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Database } from 'agent-gateway';
import { deleteExpired } from '../store/logins.ts';

/** Rows of a table that one statement deletes, and statements of one look. The rest is for the next. */
const BATCH = 500;
const MAX_BATCHES = 1_000;

/**
 * Removes links, logins and sessions of all tenants that have expired, a batch after the other, so that others may write in between. Replicas that do it
 * at the same time share the work. The signal ends it after the batch under way.
 */
export async function removeExpired(
  { database, clock }: { readonly database: Pick<Database, 'system'>; readonly clock: Pick<Clock, 'now'> },
  signal: AbortSignal,
): Promise<void> {
  const now = new Date(clock.now());
  for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch += 1) {
    if ((await deleteExpired(database, now, BATCH)) < BATCH) return;
    await nextTurn();
  }
}
