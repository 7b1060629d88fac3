import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type Page, type PlainWhere, type TenantEntityManager } from 'agent-gateway';
import { OWNER_LENGTH } from '../../records/contract.ts';

/**
 * A conversation; its messages are those of the session of the same id. Free text is JSON text, which every database
 * keeps.
 */
export const ConversationEntity = defineEntity({
  name: 'RuntimeConversation',
  tableName: 'runtime_conversations',
  indexes: [
    { name: 'runtime_conversations_newest', properties: ['tenantId', 'createdAt', 'id'] },
    { name: 'runtime_conversations_owner', properties: ['tenantId', 'identityId', 'userId', 'createdAt'] },
    { name: 'runtime_conversations_identity', properties: ['tenantId', 'identityId', 'createdAt', 'id'] },
    { name: 'runtime_conversations_bot', properties: ['tenantId', 'botId', 'createdAt', 'id'] },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    identityId: column.string(OWNER_LENGTH),
    userId: column.string(OWNER_LENGTH),
    botId: column.string(128),
    title: column.text(),
    metaData: column.text(),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** A row of `runtime_conversations`. */
export type ConversationRow = InferEntity<typeof ConversationEntity>;

const NEWEST_FIRST = { createdAt: 'desc', id: 'desc' } as const;

/** A page of conversations, newest first. */
export async function findConversations(
  entities: TenantEntityManager,
  where: PlainWhere<ConversationRow>,
  { limit, offset }: Page,
): Promise<readonly ConversationRow[]> {
  return entities.rows(ConversationEntity, where, { orderBy: NEWEST_FIRST, limit, offset });
}

/**
 * Titles of the newest conversations, as they are stored. They are searched without the metadata, which may be a
 * thousand times as long.
 */
export async function findTitles(
  entities: TenantEntityManager,
  where: PlainWhere<ConversationRow>,
  limit: number,
): Promise<readonly Pick<ConversationRow, 'id' | 'title'>[]> {
  return entities.rows(ConversationEntity, where, { fields: ['id', 'title'], orderBy: NEWEST_FIRST, limit });
}

/** The tenant's conversation of this id. */
export async function findConversation(
  entities: TenantEntityManager,
  id: string,
): Promise<ConversationRow | undefined> {
  const [row] = await entities.rows(ConversationEntity, { id }, { limit: 1 });
  return row;
}
