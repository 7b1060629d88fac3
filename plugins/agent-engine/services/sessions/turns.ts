import type { Clock, Database, Ids, Lease, Leases } from 'agent-gateway';
import {
  type Metering,
  SessionErrors,
  type SessionReader,
  type Turn,
  type TurnRequest,
  type Turns,
} from '../../contract.ts';
import { findSession, type SessionRow } from '../../store/sessions/session-row.ts';
import { type CommitParts, commitTurn } from './commit-turn.ts';
import { maySee, maySeeMark, type Owner, ownerMark, ownerOf, ownsSession } from './ownership.ts';
import { isSessionId, requireSessionId } from './session-id.ts';
import { createSharedTransactions } from './shared-transactions.ts';
import { readHistory } from './turn-history.ts';
import { leaseKey, takeSession } from './turn-place.ts';
import { turnSignal } from './turn-signal.ts';

/** What turns are made of. */
export interface TurnsParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly metering: Pick<Metering, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Turns of sessions. */
export function createTurns(parts: TurnsParts): Turns {
  const { database, leases, ids } = parts;
  const writing = { ...parts, transactions: createSharedTransactions(database) };
  return {
    async begin(request) {
      const { principal, isAdmin, sessionId, maxSessions, signal } = request;
      if (sessionId !== undefined) requireSessionId(sessionId);
      signal.throwIfAborted();
      const { tenantId } = principal;
      const owner = ownerOf(principal);
      const id = sessionId ?? ids.uuid();
      await using acquired = new AsyncDisposableStack();
      const lease = acquired.use(
        await takeSession(leases, { tenantId, sessionId: id, maxSessions, signal, mark: ownerMark(owner) }),
      );
      const session =
        sessionId === undefined
          ? undefined
          : ((await findSession(database.forTenant(tenantId), id)) ?? undefined);
      if (session !== undefined && !isAdmin && !ownsSession(session, owner)) throw SessionErrors.forbidden();
      acquired.move(); // it is the turn's from now on
      return openTurn(writing, request, { id, owner, session, lease });
    },

    async abort(entities, reader, sessionId) {
      if (!isSessionId(sessionId)) return false;
      await requireAccess(entities, reader, sessionId);
      return leases.revoke(leaseKey(entities.tenantId), sessionId);
    },
  };

  /** By the session where it is stored, else by what its first turn noted beside its lease. */
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

function openTurn(
  parts: TurnsParts & CommitParts,
  request: TurnRequest,
  { id, owner, session, lease }: BegunTurn,
): Turn {
  const { database, clock } = parts;
  const { principal } = request;
  const following = turnSignal({ caller: request.signal, lease: lease.signal });
  const { signal } = following;
  /** Committed, or given back: neither comes twice. */
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
      following[Symbol.dispose]();
      await lease.release();
    },
  };
}
