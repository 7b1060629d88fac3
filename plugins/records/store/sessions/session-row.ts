import type { FilterQuery, InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type Page, type TenantEntityManager } from 'agent-gateway';

/** Lengths of the columns, in characters; `001-sessions` says the same to the database. */
export const SESSION_LENGTHS = { id: 128, owner: 255, model: 255 } as const;

/** A session as it is stored. Its id is unique in its tenant alone: clients choose it. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  indexes: [
    { name: 'sessions_updated', properties: ['tenantId', 'updatedAt', 'id'] },
    { name: 'sessions_owner', properties: ['tenantId', 'identityId', 'userId', 'updatedAt'] },
  ],
  properties: {
    tenantId: column.tenant().primary(),
    id: column.string(SESSION_LENGTHS.id).primary(),
    identityId: column.string(SESSION_LENGTHS.owner),
    userId: column.string(SESSION_LENGTHS.owner),
    model: column.string(SESSION_LENGTHS.model),
    /** Also the revision: a turn is written only over the number that it began with. */
    turns: column.integer(),
    messageCount: column.integer(),
    /** Of all messages together, as they are stored. */
    messageBytes: column.bigint(),
    inputTokens: column.bigint(),
    outputTokens: column.bigint(),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** A row of `sessions`. */
export type SessionRow = InferEntity<typeof Session>;

/** The tenant's session of this id, or null. */
export async function findSession(entities: TenantEntityManager, id: string): Promise<SessionRow | null> {
  const [row] = await entities.rows(Session, { id }, { limit: 1 });
  return row ?? null;
}

/** A page of the tenant's sessions that match, the last used first, and the number of all. */
export function findSessions(
  entities: TenantEntityManager,
  where: FilterQuery<SessionRow>,
  { limit, offset }: Page,
): Promise<[SessionRow[], number]> {
  const orderBy = { updatedAt: 'desc', id: 'desc' } as const;
  return entities.findAndCount(Session, where, { orderBy, limit, offset });
}

/** Writes a new session; a unique violation where its id is taken. */
export function insertSession(entities: TenantEntityManager, row: SessionRow): Promise<void> {
  return entities.insert(Session, row);
}

/** Writes what a turn changed, unless another turn was written since `turns` was read; false then. */
export async function updateSession(
  entities: TenantEntityManager,
  { id, turns }: Pick<SessionRow, 'id' | 'turns'>,
  changed: Omit<SessionRow, 'tenantId' | 'id' | 'identityId' | 'userId' | 'createdAt'>,
): Promise<boolean> {
  return (await entities.update(Session, { id, turns }, changed)) === 1;
}

/** Deletes a session; false when there is none. */
export async function deleteSession(entities: TenantEntityManager, id: string): Promise<boolean> {
  return (await entities.delete(Session, { id })) > 0;
}
