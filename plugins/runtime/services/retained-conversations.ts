import { createSweptUntil, type Database, eachRow, type RetainedRecords, rowsByTenant } from 'agent-gateway';
import type { Sessions } from '../../records/contract.ts';
import { ConversationEntity } from '../store/conversations.ts';

/** Conversations that are looked at together. */
const PAGE = 200;
/** Milliseconds: a sweep goes so far back before the one before it, and one looks at all conversations so often. */
const SWEEP_BACK_MS = 24 * 3_600_000;

/**
 * Conversations in which nothing was said, or whose messages have gone with their session: those with messages are kept
 * as long as these. A conversation that outlived its session by less than the rule says goes up to a day late.
 */
export function retainedConversations(
  database: Pick<Database, 'forTenant' | 'system'>,
  sessions: Pick<Sessions, 'absent'>,
): RetainedRecords {
  const sweep = createSweptUntil({ overlap: SWEEP_BACK_MS, wholeEvery: SWEEP_BACK_MS });

  /** Ids of those that may go, in pages. */
  async function* unused(tenantId: string, before: Date, from?: Date) {
    const entities = database.forTenant(tenantId);
    const query = { by: ['createdAt', 'id'], fields: ['id', 'createdAt', 'updatedAt'], page: PAGE } as const;
    const begun = from === undefined ? {} : { createdAt: { $gte: from } };
    let ids: string[] = [];
    for await (const { id, createdAt, updatedAt } of eachRow(entities, ConversationEntity, begun, query)) {
      if (createdAt >= before) break;
      if (updatedAt < before) ids.push(id);
      if (ids.length < PAGE) continue;
      yield await sessions.absent(entities, ids);
      ids = [];
    }
    if (ids.length > 0) yield await sessions.absent(entities, ids);
  }

  return {
    name: 'conversations',
    summary: 'Conversations without messages, by their last change',
    sizes: () => rowsByTenant(database, ConversationEntity),
    async count(tenantId, before) {
      if (before === undefined) return database.forTenant(tenantId).count(ConversationEntity, {});
      let count = 0;
      for await (const ids of unused(tenantId, before)) count += ids.length;
      return count;
    },
    async *deleteBefore(tenantId, before, signal) {
      const { from, ended } = sweep(tenantId, before);
      for await (const ids of unused(tenantId, before, from)) {
        signal.throwIfAborted();
        // One that was changed meanwhile is in use.
        const where = { id: { $in: [...ids] }, updatedAt: { $lt: before } };
        yield await database.forTenant(tenantId).erase(ConversationEntity, where, PAGE);
      }
      ended();
    },
  };
}
