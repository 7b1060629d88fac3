import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Clock,
  GatewayError,
  type Lock,
  LockErrors,
  type Locks,
  type Permit,
  type Permits,
} from 'agent-gateway';
import { SessionErrors } from '../../contract.ts';

/** Milliseconds that a turn waits for its session. */
const WAIT_MS = 30_000;
/** Milliseconds between two questions for a session whose first turn is in flight, from the first to all later ones. */
const POLL = { first: 25, most: 500 };

/** What leases are taken with. */
export interface LeaseParts {
  readonly locks: Locks;
  readonly permits: Permits;
  readonly clock: Clock;
}

/** Which session is asked for. */
export interface LeaseRequest {
  readonly tenantId: string;
  readonly sessionId: string;
  /** True for an id that was made this moment, which no other turn can have. */
  readonly isNew: boolean;
  readonly maxSessions: number;
  /** See `ownerMark`. */
  readonly mark: string;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/**
 * The hold on a session while a turn of it is in flight: its lock, so that turns come one after the other, and one of the tenant's `max_sessions`
 * permits. A new session has no lock. Disposing gives both back.
 */
export interface SessionLease extends AsyncDisposable {
  readonly permit: Permit;
  readonly lock: Lock | undefined;
}

/** The key of the lock of a session. */
export const lockKey = (tenantId: string, sessionId: string) => `session:${tenantId}:${sessionId}`;

/** The key of the permits of a tenant's sessions, whose names are the ids. */
export const permitKey = (tenantId: string) => `sessions:${tenantId}`;

/**
 * Waits for the session's lock, then takes one of the tenant's permits: here `max_sessions` is enforced. Throws `session.limit`, `session.busy` after
 * 30 s, and the signal's reason.
 */
export async function acquireSessionLease(parts: LeaseParts, request: LeaseRequest): Promise<SessionLease> {
  const { clock } = parts;
  const until = clock.monotonic() + WAIT_MS;
  await using acquired = new AsyncDisposableStack();
  const lock = request.isNew ? undefined : acquired.use(await acquireLock(parts.locks, request));
  const permit = acquired.use(await acquirePermit(parts, request, until));
  // The permit is given back first: the next holder of the lock finds it free.
  const held = acquired.move();
  return { permit, lock, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

const BUSY: ReadonlySet<string> = new Set([
  LockErrors.timeout.definition.code,
  LockErrors.tooManyWaiters.definition.code,
]);

async function acquireLock(locks: Locks, { tenantId, sessionId, signal }: LeaseRequest): Promise<Lock> {
  try {
    return await locks.acquire(lockKey(tenantId, sessionId), { wait: WAIT_MS, signal });
  } catch (cause) {
    if (cause instanceof GatewayError && BUSY.has(cause.code)) throw busy(cause);
    throw cause;
  }
}

async function acquirePermit(
  { permits, clock }: LeaseParts,
  request: LeaseRequest,
  until: number,
): Promise<Permit> {
  const { tenantId, sessionId: name, maxSessions: limit, mark: note, signal } = request;
  for (let pause = POLL.first; ; pause = Math.min(2 * pause, POLL.most)) {
    const outcome = await permits.tryAcquire(permitKey(tenantId), { name, limit, note });
    if (outcome === 'full') throw SessionErrors.limit(undefined, { headers: { 'retry-after': '1' } });
    if (outcome !== 'held') return outcome;
    // A new session has no lock, and a process that died may have left its permit behind.
    if (clock.monotonic() >= until) throw busy();
    await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

const busy = (cause?: unknown) => SessionErrors.busy(undefined, { cause });
