import type { InferEntity } from '@mikro-orm/core';
import {
  column,
  type Database,
  defineEntity,
  type RetainedRecords,
  type RowWrite,
  retainedRows,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import { OWNER_LENGTH } from '../../records/contract.ts';

/**
 * A chat of the v3 API: one turn in a conversation, until it has ended. Free text is JSON text, which every database
 * keeps.
 */
export const ChatEntity = defineEntity({
  name: 'RuntimeChat',
  tableName: 'runtime_chats',
  indexes: [
    { name: 'runtime_chats_conversation', properties: ['tenantId', 'conversationId'] },
    { name: 'runtime_chats_age', properties: ['createdAt'] },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    identityId: column.string(OWNER_LENGTH),
    userId: column.string(OWNER_LENGTH),
    conversationId: column.string(128),
    botId: column.string(128),
    status: column.string(16).$type<StoredStatus>(),
    metaData: column.text(),
    /** The result: usage, error, and the pause. */
    result: column.text(),
    /** The messages as they are listed. */
    messages: column.text(),
    createdAt: column.time(),
    completedAt: column.time().nullable(),
  },
});

/** The status of a stored chat; `created` occurs only as an event. */
export type StoredStatus = 'in_progress' | 'completed' | 'failed' | 'requires_action' | 'canceled';

/** Unfinished chats of a conversation that are looked at: only one turn runs in it at a time. */
const MOST_UNFINISHED = 100;

/** A row of `runtime_chats`. */
export type ChatRow = Omit<InferEntity<typeof ChatEntity>, 'tenantId'>;

/** The tenant's chat of this id. */
export async function findChat(entities: TenantEntityManager, id: string): Promise<ChatRow | undefined> {
  const [row] = await entities.rows(ChatEntity, { id }, { limit: 1 });
  return row;
}

/** What changes in the row of a chat. */
export type ChatChange = Partial<Pick<ChatRow, 'status' | 'result' | 'messages' | 'completedAt'>>;

/** A chat as it was read. */
type ReadChat = Pick<ChatRow, 'id' | 'status' | 'result'>;

/** Changes a chat. False where its status or its result is no longer as it was read. */
export async function moveChat(
  entities: TenantEntityManager,
  { id, status, result }: ReadChat,
  change: ChatChange,
): Promise<boolean> {
  return (await entities.update(ChatEntity, { id, status, result }, change)) > 0;
}

/** `moveChat` as a part of a transaction, which is undone where the chat is no longer as it was read. */
export function chatMove({ id, status, result }: ReadChat, change: ChatChange): RowWrite {
  return writes.update(ChatEntity, { id, status, result }, change, { expect: 1 });
}

/** The same; nothing happens where the chat is no longer as it was read. */
export function chatMoveIf({ id, status, result }: ReadChat, change: ChatChange): RowWrite {
  return writes.update(ChatEntity, { id, status, result }, change);
}

/** The newest chats of a conversation that have no end yet. */
export function unfinishedChats(
  entities: TenantEntityManager,
  { conversationId, botId }: Pick<ChatRow, 'conversationId' | 'botId'>,
): Promise<readonly ChatRow[]> {
  const where = { conversationId, botId, status: { $in: ['in_progress', 'requires_action'] as const } };
  return entities.rows(ChatEntity, where, { orderBy: { createdAt: 'desc' }, limit: MOST_UNFINISHED });
}

/** Milliseconds for which a chat can be retrieved, unless a retention rule says otherwise. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** Old chats may be deleted: their messages stay in the conversation. */
export function retainedChats(database: Pick<Database, 'forTenant' | 'system'>): RetainedRecords {
  return retainedRows(database, {
    name: 'chats',
    summary: 'Chats of the v3 API, by their begin; their messages stay in the conversation',
    keptFor: KEPT_MS,
    entity: ChatEntity,
    older: (before) => ({ createdAt: { $lt: before } }),
  });
}

/** Deletes the chats of a conversation; returns their number. */
export function deleteChatsIn(entities: TenantEntityManager, conversationId: string): Promise<number> {
  return entities.delete(ChatEntity, { conversationId });
}
