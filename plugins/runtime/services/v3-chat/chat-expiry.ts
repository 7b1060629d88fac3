import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Database } from 'agent-gateway';
import { deleteChatsBefore } from '../../store/chats.ts';

/** For so long a chat can be retrieved. Its messages stay in the conversation. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** Milliseconds between two looks for chats that are older. */
export const CHAT_EXPIRY_EVERY_MS = 3_600_000;

/** Chats that one statement deletes, since a row holds up to a million characters; and statements of one look. The rest is for the next. */
const BATCH = 200;
const MAX_BATCHES = 10_000;

/**
 * Forgets the old chats of all tenants, a batch after the other, so that others may write in between. Replicas that do it at the same time share the
 * work. The signal ends it after the batch under way.
 */
export function createChatExpiry(parts: {
  readonly database: Pick<Database, 'system'>;
  readonly clock: Pick<Clock, 'now'>;
}): (signal: AbortSignal) => Promise<void> {
  const { database, clock } = parts;
  return async (signal) => {
    const before = new Date(clock.now() - KEPT_MS);
    for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch += 1) {
      if ((await deleteChatsBefore(database, before, BATCH)) < BATCH) return;
      await nextTurn();
    }
  };
}
