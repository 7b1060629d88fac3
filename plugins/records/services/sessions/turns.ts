import {
  type Clock,
  type Database,
  GatewayError,
  type Ids,
  type Locks,
  PermitErrors,
  type Permits,
} from 'agent-gateway';
import {
  type Metering,
  SessionErrors,
  type SessionReader,
  type Turn,
  type TurnRequest,
  type Turns,
} from '../../contract.ts';
import { findSession, type SessionRow } from '../../store/sessions.ts';
import { type CommitParts, commitTurn } from './commit-turn.ts';
import {
  isSessionId,
  maySee,
  maySeeMark,
  type Owner,
  ownerMark,
  ownerOf,
  ownsSession,
  requireSessionId,
} from './session-access.ts';
import { acquireSessionLease, permitKey, type SessionLease } from './session-lease.ts';
import { createSharedTransactions } from './shared-transactions.ts';
import { readHistory } from './turn-history.ts';

/** What turns are made of. */
interface TurnsParts {
  readonly database: Database;
  readonly locks: Locks;
  readonly permits: Permits;
  readonly metering: Pick<Metering, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Turns of sessions. */
export function createTurns(parts: TurnsParts): Turns {
  const { database, permits, ids } = parts;
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
        await acquireSessionLease(parts, {
          tenantId,
          sessionId: id,
          isNew: sessionId === undefined,
          maxSessions,
          mark: ownerMark(owner),
          signal,
        }),
      );
      const session =
        sessionId === undefined
          ? undefined
          : ((await findSession(database.forTenant(tenantId), id)) ?? undefined);
      if (session !== undefined && !isAdmin && !ownsSession(session, owner)) throw SessionErrors.forbidden();
      acquired.move(); // the turn gives it back from now on
      return openTurn(writing, request, { id, owner, session, lease });
    },

    async abort(entities, reader, sessionId) {
      if (!isSessionId(sessionId)) return false;
      await requireAccess(entities, reader, sessionId);
      return permits.revoke(permitKey(entities.tenantId), sessionId);
    },
  };

  /** By the session where it is stored, else by what its first turn noted beside its permit. */
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
    const held = await permits.find(permitKey(entities.tenantId), sessionId);
    if (held !== undefined && !maySeeMark(held.note, reader)) throw SessionErrors.forbidden();
  }
}

interface BegunTurn {
  readonly id: string;
  readonly owner: Owner;
  readonly session: SessionRow | undefined;
  readonly lease: SessionLease;
}

function openTurn(
  parts: TurnsParts & CommitParts,
  request: TurnRequest,
  { id, owner, session, lease }: BegunTurn,
): Turn {
  const { database, clock } = parts;
  const { principal } = request;
  const following = turnSignal({
    caller: request.signal,
    permit: lease.permit.signal,
    lock: lease.lock?.signal,
  });
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
      await lease[Symbol.asyncDispose]();
    },
  };
}

/** What ends a turn. */
interface TurnSignals {
  readonly caller: AbortSignal;
  readonly permit: AbortSignal;
  /** Absent for a new session, which no other turn can name. */
  readonly lock: AbortSignal | undefined;
}

/** One signal for all of them, with the reason that callers understand. Disposing lets go of the others. */
function turnSignal(signals: TurnSignals): { readonly signal: AbortSignal } & Disposable {
  const { caller, permit, lock } = signals;
  const controller = new AbortController();
  const follow = (source: AbortSignal, reasonOf: (reason: unknown) => unknown) => {
    const abort = () => controller.abort(reasonOf(source.reason));
    if (source.aborted) abort();
    else source.addEventListener('abort', abort);
    return () => source.removeEventListener('abort', abort);
  };
  const followed = [follow(caller, (reason) => reason), follow(permit, permitReason)];
  if (lock !== undefined) followed.push(follow(lock, lost));
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const unfollow of followed) unfollow();
    },
  };
}

const lost = (cause: unknown) => SessionErrors.lost(undefined, { cause });

function permitReason(reason: unknown): GatewayError {
  const isRevoked = reason instanceof GatewayError && reason.code === PermitErrors.revoked.definition.code;
  return isRevoked ? SessionErrors.aborted() : lost(reason);
}
