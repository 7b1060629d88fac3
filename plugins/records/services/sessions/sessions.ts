import type { Leases, TenantEntityManager } from 'agent-gateway';
import { RETRY_RACES } from 'agent-gateway';
import {
  fitting,
  maySee,
  SessionErrors,
  type SessionMessage,
  type SessionReader,
  type SessionRecord,
  type Sessions,
  storedName,
  visibleTo,
} from '../../contract.ts';
import {
  blankMessage,
  countMessages,
  findMessages,
  findOutlines,
  findSession,
  findSessions,
  type SessionMessageRow,
  type SessionRow,
  storedSessions,
} from '../../store/sessions.ts';
import { type DeletionParts, deleteWholeSession } from './delete-session.ts';
import { isSessionId } from './session-access.ts';
import { leaseKey, takeIdleSession } from './session-lease.ts';

/** What stored sessions are read and deleted with. */
export interface SessionsParts extends DeletionParts {
  readonly leases: Leases;
}

/** Stored sessions. */
export function createSessions({ leases, ...deletion }: SessionsParts): Sessions {
  return {
    async list(entities, reader, filter, page) {
      const users = [reader.userId, filter.userId].filter((user) => user !== undefined).map(storedName);
      // A caller that speaks for one user and asks for another sees nothing.
      if (new Set(users).size > 1) return { sessions: [], total: 0 };
      const where = { ...visibleTo(reader), ...(users[0] === undefined ? {} : { userId: users[0] }) };
      const [rows, total] = await findSessions(entities, where, { ...page, q: filter.q });
      return { sessions: rows.map(toRecord), total };
    },

    get,

    async absent(entities, ids) {
      // First what is in flight: a turn that ends in between has stored its session.
      const held = new Set((await leases.list(leaseKey(entities.tenantId))).map(({ name }) => name));
      const stored = await storedSessions(entities, ids);
      return ids.filter((id) => !held.has(id) && !stored.has(id));
    },

    async messages(entities, sessionId, page) {
      const limit = fitting(await findOutlines(entities, sessionId, page));
      const rows = await findMessages(entities, sessionId, { ...page, limit });
      const total = await countMessages(entities, sessionId);
      return { messages: rows.reverse().map(toMessage), total };
    },

    outlines: findOutlines,

    async removeMessage(entities, reader, place, also) {
      await get(entities, reader, place.sessionId);
      await using _ = await takeIdle(entities, place.sessionId);
      await entities.transaction(async (inside) => {
        if (!(await blankMessage(inside, place))) throw SessionErrors.messageNotFound();
        await also?.(inside);
      }, RETRY_RACES);
    },

    async remove(entities, reader, id) {
      await find(entities, reader, id);
      // The row of a first turn is not there yet: the lease comes first, or the turn would store a session that was
      // said to be deleted.
      await using _ = await takeIdle(entities, id);
      await get(entities, reader, id);
      const isDeleted = await deleteWholeSession(deletion, entities, { id, reason: 'requested' });
      if (!isDeleted) throw SessionErrors.notFound();
    },
  };

  async function takeIdle(entities: TenantEntityManager, id: string) {
    if (!isSessionId(id)) throw SessionErrors.notFound();
    const lease = await takeIdleSession(leases, entities.tenantId, id);
    if (lease === undefined) throw SessionErrors.busy('A turn of the session is in flight');
    return lease;
  }
}

async function get(entities: TenantEntityManager, reader: SessionReader, id: string): Promise<SessionRecord> {
  const row = await find(entities, reader, id);
  if (row === null) throw SessionErrors.notFound();
  return toRecord(row);
}

async function find(
  entities: TenantEntityManager,
  reader: SessionReader,
  id: string,
): Promise<SessionRow | null> {
  const row = isSessionId(id) ? await findSession(entities, id) : null;
  if (row !== null && !maySee(row, reader)) throw SessionErrors.forbidden();
  return row;
}

function toRecord({ messageCount, messageBytes, ...record }: SessionRow): SessionRecord {
  return record;
}

function toMessage({ id, seq, message, tokenCount, createdAt }: SessionMessageRow): SessionMessage {
  return { id, seq, message: JSON.parse(message), tokenCount, createdAt };
}
