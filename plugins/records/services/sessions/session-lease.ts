import { type Lease, LeaseErrors, type Leases } from 'agent-gateway';
import { SessionErrors } from '../../contract.ts';

/** Milliseconds that a turn waits for its session. */
const WAIT_MS = 30_000;
/** No bound, for leases that do not count as one of a tenant's sessions in use. */
const UNBOUNDED = 1_000_000;

/** Which session is asked for. */
export interface LeaseRequest {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly maxSessions: number;
  /** See `ownerMark`. */
  readonly mark: string;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** The key of the leases of a tenant's sessions, whose names are the ids. */
export const leaseKey = (tenantId: string) => `sessions:${tenantId}`;

/**
 * Waits in line for the session's lease, which counts as one of the tenant's `max_sessions` in use: this is where that
 * limit is enforced. Throws `session.limit`, `session.busy` after 30 s, and the signal's reason.
 *
 * The lease is not strict: while replicas disagree about Redis two turns of a session may run, and the second to commit
 * is refused by the database (`session.conflict`). It costs a turn no statement with Redis, and two without.
 */
export async function acquireSessionLease(leases: Leases, request: LeaseRequest): Promise<Lease> {
  const { tenantId, sessionId: name, maxSessions: limit, mark: note, signal } = request;
  try {
    return await leases.acquire(leaseKey(tenantId), { name, limit, note, wait: WAIT_MS, signal });
  } catch (cause) {
    if (LeaseErrors.full.is(cause)) throw SessionErrors.limit(undefined, { headers: { 'retry-after': '1' } });
    if (LeaseErrors.timeout.is(cause) || LeaseErrors.tooManyWaiters.is(cause))
      throw SessionErrors.busy(undefined, { cause });
    throw cause;
  }
}

/**
 * Acquires the lease of a session that is to be deleted; `undefined` if a turn of it is in flight or waits. Not strict
 * either: a turn on a replica that uses another lease store finds at its commit that the session was deleted.
 */
export async function takeIdleSession(leases: Leases, tenantId: string, sessionId: string) {
  const outcome = await leases.tryAcquire(leaseKey(tenantId), { name: sessionId, limit: UNBOUNDED });
  return typeof outcome === 'string' ? undefined : outcome;
}
