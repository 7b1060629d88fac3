import type { DurableEvents, TenantEntityManager } from 'agent-gateway';
import { RETRY_RACES } from 'agent-gateway';
import { type DeletionReason, type SessionData, SessionsDeleted } from '../../contract.ts';
import { Session, SessionMessageEntity } from '../../store/sessions.ts';

/** Which session is deleted, and why. */
interface SessionDeletion {
  readonly id: string;
  readonly reason: DeletionReason;
  readonly unusedSince?: Date;
}

/** What deletions are made of. */
export interface DeletionParts {
  /** Data of plugins that is deleted with a session. */
  readonly data: () => readonly SessionData[];
  readonly durableEvents: Pick<DurableEvents, 'publish'>;
}

/**
 * Deletes a session with its messages and what plugins keep of it, in one transaction. False, and nothing is deleted,
 * if there is no such session, or if it was used since `unusedSince`.
 */
export function deleteWholeSession(
  { data, durableEvents }: DeletionParts,
  entities: TenantEntityManager,
  { id, reason, unusedSince }: SessionDeletion,
): Promise<boolean> {
  return entities.transaction(async (inside) => {
    // The session first: a turn that commits at this moment ends before, so that its messages go too.
    const unused = unusedSince === undefined ? {} : { updatedAt: { $lt: unusedSince } };
    if ((await inside.delete(Session, { id, ...unused })) === 0) return false;
    await inside.delete(SessionMessageEntity, { sessionId: id });
    for (const { remove } of data()) await remove(inside, id);
    await durableEvents.publish(inside, SessionsDeleted, { session_ids: [id], reason });
    return true;
  }, RETRY_RACES);
}
