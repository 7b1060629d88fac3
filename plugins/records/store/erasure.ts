import type { PlainWhere, TenantEntityManager } from 'agent-gateway';
import { ofOwner, SESSIONS_OF_EVENT } from '../contract.ts';
import { MemoryEntity, ProfileEntity } from './memories.ts';
import { ExecutionReceipt } from './receipts.ts';
import { Session, SessionMessageEntity, type SessionRow } from './sessions.ts';
import { UsageRecordRow } from './usage.ts';

/** Sessions that are deleted together, with their messages and receipts. */
const BATCH = SESSIONS_OF_EVENT;

/** A name as rows hold it: of sessions, receipts and usage the stored form, of memories the user id itself. */
export interface ErasedUser {
  readonly storedName: string;
  readonly userId: string;
}

/**
 * Deletes sessions with their messages and receipts, in the caller's transaction. The sessions first: a turn that
 * commits at this moment ends before, and its messages go too; one that commits later finds no session.
 */
async function eraseSessions(
  entities: TenantEntityManager,
  where: PlainWhere<SessionRow>,
  onErased: (sessionIds: readonly string[]) => Promise<void>,
) {
  const erased = { sessions: 0, messages: 0, execution_receipts: 0 };
  for (;;) {
    const page = await entities.rows(Session, where, { fields: ['id'], limit: BATCH });
    if (page.length === 0) return erased;
    const ids = page.map(({ id }) => id);
    erased.sessions += await entities.delete(Session, { id: { $in: ids } });
    await onErased(ids);
    const ofSessions = { sessionId: { $in: ids } };
    erased.messages += await entities.erase(SessionMessageEntity, ofSessions);
    erased.execution_receipts += await entities.erase(ExecutionReceipt, ofSessions);
  }
}

/** How many of each kind were deleted. */
type Erased = Readonly<
  Record<'sessions' | 'messages' | 'memories' | 'profiles' | 'execution_receipts' | 'usage_records', number>
>;

/**
 * Deletes what is kept of a user, or of all of the tenant, in the caller's transaction; returns how many of each.
 * `onErased` is called in it with the sessions of each batch.
 */
export async function eraseRecords(
  entities: TenantEntityManager,
  user: ErasedUser | undefined,
  onErased: (sessionIds: readonly string[]) => Promise<void>,
): Promise<Erased> {
  const erased = {
    sessions: 0,
    messages: 0,
    memories: 0,
    profiles: 0,
    execution_receipts: 0,
    usage_records: 0,
  };
  const add = (more: Partial<typeof erased>) => {
    for (const [kind, count] of Object.entries(more)) erased[kind as keyof typeof erased] += count;
  };
  for (const theirs of ofOwner(user?.storedName)) {
    add(await eraseSessions(entities, theirs, onErased));
    add({ usage_records: await entities.erase(UsageRecordRow, theirs) });
  }
  const named = user === undefined ? {} : { userId: user.storedName };
  add({ execution_receipts: await entities.erase(ExecutionReceipt, named) });
  const ofUser = user === undefined ? {} : { userId: user.userId };
  add({ memories: await entities.erase(MemoryEntity, ofUser) });
  add({ profiles: await entities.erase(ProfileEntity, ofUser) });
  return erased;
}
