import type { TenantEntityManager } from 'agent-gateway';
import type { SessionData } from '../../contract.ts';
import { deleteMessages, deleteSession } from '../../store/sessions.ts';

/** How often a deletion that lost a race in the database is tried again. */
const RETRIES = 5;

/**
 * Deletes a session with its messages and what plugins keep of it, in one transaction. False, and nothing goes, where there is none, or one that was used since
 * `unusedSince`.
 */
export function deleteWholeSession(
  entities: TenantEntityManager,
  id: string,
  data: readonly SessionData[],
  unusedSince?: Date,
): Promise<boolean> {
  return entities.transaction(
    async (inside) => {
      // The session first: a turn that commits at this moment ends before, so that its messages go too.
      if (!(await deleteSession(inside, id, unusedSince))) return false;
      await deleteMessages(inside, id);
      for (const { remove } of data) await remove(inside, id);
      return true;
    },
    { retries: RETRIES },
  );
}
