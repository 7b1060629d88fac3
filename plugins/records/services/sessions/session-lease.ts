import { GatewayError, type Lease, LeaseErrors, type Leases } from 'agent-gateway';
import { SessionErrors } from '../../contract.ts';

/** Milliseconds that a turn waits for its session. */
const WAIT_MS = 30_000;
/** No bound, for those who do not count as one of a tenant's sessions in use. */
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
 * Waits for the session in line, and takes it as one of the tenant's `max_sessions` in use: here that is enforced. Throws `session.limit`, `session.busy`
 * after 30 s, and the signal's reason.
 *
 * The lease is not strict: while replicas disagree about Redis two turns of a session may run, and the second to commit is refused by
 * the database (`session.conflict`). It costs a turn no statement where Redis is, and two where it is not.
 */
export async function acquireSessionLease(leases: Leases, request: LeaseRequest): Promise<Lease> {
  const { tenantId, sessionId: name, maxSessions: limit, mark: note, signal } = request;
  try {
    return await leases.acquire(leaseKey(tenantId), { name, limit, note, wait: WAIT_MS, signal });
  } catch (cause) {
    const code = cause instanceof GatewayError ? cause.code : undefined;
    if (code === LeaseErrors.full.definition.code)
      throw SessionErrors.limit(undefined, { headers: { 'retry-after': '1' } });
    if (code === LeaseErrors.timeout.definition.code || code === LeaseErrors.tooManyWaiters.definition.code)
      throw SessionErrors.busy(undefined, { cause });
    throw cause;
  }
}

/**
 * Takes a session that is to be deleted, unless a turn of it is in flight or waits: `undefined` then. Not strict either: a turn of a replica that
 * sees another store finds at its commit that the session is gone.
 */
export async function takeIdleSession(leases: Leases, tenantId: string, sessionId: string) {
  const outcome = await leases.tryAcquire(leaseKey(tenantId), { name: sessionId, limit: UNBOUNDED });
  return typeof outcome === 'string' ? undefined : outcome;
}
