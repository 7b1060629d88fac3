import {
  type Clock,
  type Database,
  type DurableEvents,
  type GatewayError,
  type Ids,
  type Lease,
  LeaseErrors,
  type Leases,
  linkSignals,
} from 'agent-gateway';
import {
  type Metering,
  maySee,
  type Owner,
  ownerOf,
  SessionErrors,
  type SessionReader,
  type Turn,
  type TurnRequest,
  type Turns,
} from '../../contract.ts';
import { findSession, type SessionRow } from '../../store/sessions.ts';
import { commitTurn } from './commit-turn.ts';
import { isSessionId, maySeeMark, ownerMark, ownsSession, requireSessionId } from './session-access.ts';
import { acquireSessionLease, leaseKey } from './session-lease.ts';
import { readHistory } from './turn-history.ts';

/** What turns are made of. */
interface TurnsParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly metering: Pick<Metering, 'write'>;
  readonly durableEvents: Pick<DurableEvents, 'hasSubscribers' | 'writes'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Turns of sessions. */
export function createTurns(parts: TurnsParts): Turns {
  const { database, leases, ids } = parts;
  return {
    async begin(request) {
      const { principal, sessionId, maxSessions, signal } = request;
      if (sessionId !== undefined) requireSessionId(sessionId);
      signal.throwIfAborted();
      const { tenantId } = principal;
      const owner = ownerOf(principal);
      const id = sessionId ?? ids.uuid();
      const mark = ownerMark(owner);
      const lease = await acquireSessionLease(leases, { tenantId, sessionId: id, maxSessions, mark, signal });
      try {
        const session = sessionId === undefined ? undefined : await ownSession({ ...request, sessionId });
        // The turn releases the lease.
        return openTurn(parts, request, { id, owner, session, lease });
      } catch (error) {
        await lease.release();
        throw error;
      }
    },

    async history(request, maxTokens) {
      requireSessionId(request.sessionId);
      const session = await ownSession(request);
      const entities = () => database.forTenant(request.principal.tenantId);
      return session === undefined ? [] : readHistory(entities, session, maxTokens);
    },

    async abort(entities, reader, sessionId) {
      if (!isSessionId(sessionId)) return false;
      await requireAccess(entities, reader, sessionId);
      return leases.revoke(leaseKey(entities.tenantId), sessionId);
    },
  };

  /** The stored session, which has to be the caller's. */
  async function ownSession({
    principal,
    isAdmin,
    sessionId,
  }: Parameters<Turns['history']>[0]): Promise<SessionRow | undefined> {
    const session = await findSession(database.forTenant(principal.tenantId), sessionId);
    if (session !== null && !isAdmin && !ownsSession(session, ownerOf(principal)))
      throw SessionErrors.forbidden();
    return session ?? undefined;
  }

  /** Decided by the stored session, if there is one, else by the note in the lease of its first turn. */
  async function requireAccess(
    entities: Parameters<Turns['abort']>[0],
    reader: SessionReader,
    sessionId: string,
  ): Promise<void> {
    const session = await findSession(entities, sessionId);
    if (session !== null) {
      if (!maySee(session, reader)) throw SessionErrors.forbidden();
      return;
    }
    const held = await leases.find(leaseKey(entities.tenantId), sessionId);
    if (held !== undefined && !maySeeMark(held.note, reader)) throw SessionErrors.forbidden();
  }
}

interface BegunTurn {
  readonly id: string;
  readonly owner: Owner;
  readonly session: SessionRow | undefined;
  readonly lease: Lease;
}

function openTurn(parts: TurnsParts, request: TurnRequest, { id, owner, session, lease }: BegunTurn): Turn {
  const { database, clock } = parts;
  const { principal } = request;
  const alive = linkSignals(request.signal, [lease.signal, leaseReason]);
  const { signal } = alive;
  /** Committed or released: neither happens twice. */
  let isOver = false;
  return {
    sessionId: id,
    isNew: session === undefined,
    signal,
    async history(maxTokens) {
      if (session === undefined) return [];
      return readHistory(() => database.forTenant(principal.tenantId), session, maxTokens);
    },
    async commit(outcome) {
      if (isOver) throw new Error('A turn is committed once, and before it is given back');
      isOver = true;
      signal.throwIfAborted();
      const at = new Date(clock.now());
      await commitTurn(parts, { sessionId: id, principal, owner, session, outcome, at });
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      alive.end();
      await lease.release();
    },
  };
}

/** What callers understand. */
function leaseReason(reason: unknown): GatewayError {
  const isRevoked = LeaseErrors.revoked.is(reason);
  return isRevoked ? SessionErrors.aborted() : SessionErrors.lost(undefined, { cause: reason });
}
