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

/** What places are taken with. */
export interface LeaseParts {
  readonly locks: Locks;
  readonly permits: Permits;
  readonly clock: Clock;
}

/** Which place is asked for. */
export interface LeaseRequest {
  readonly tenantId: string;
  readonly sessionId: string;
  /** True for an id that was made this moment: nobody else can have it. */
  readonly isNew: boolean;
  readonly maxSessions: number;
  /** See `ownerMark`. */
  readonly mark: string;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** The hold on a session: its lock, where it has one, and one of the tenant's places. Disposing gives both back. */
export interface SessionLease extends AsyncDisposable {
  readonly permit: Permit;
  readonly lock: Lock | undefined;
}

/** The key of the lock of a session. */
export const lockKey = (tenantId: string, sessionId: string) => `session:${tenantId}:${sessionId}`;

/** The key of the permits of a tenant's sessions, whose names are the ids. */
export const permitKey = (tenantId: string) => `sessions:${tenantId}`;

/**
 * Takes the session in line, then a place of the tenant. Throws `session.limit`, `session.busy` after 30 s, and the signal's reason.
 */
export async function acquireSessionLease(parts: LeaseParts, wanted: LeaseRequest): Promise<SessionLease> {
  const { clock } = parts;
  const until = clock.monotonic() + WAIT_MS;
  await using acquired = new AsyncDisposableStack();
  const lock = wanted.isNew ? undefined : acquired.use(await acquireLock(parts.locks, wanted));
  const permit = acquired.use(await acquirePermit(parts, wanted, until));
  // The last one first: who gets the lock finds the place free.
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
  wanted: LeaseRequest,
  until: number,
): Promise<Permit> {
  const { tenantId, sessionId: name, maxSessions: limit, mark: note, signal } = wanted;
  for (let pause = POLL.first; ; pause = Math.min(2 * pause, POLL.most)) {
    const outcome = await permits.tryAcquire(permitKey(tenantId), { name, limit, note });
    if (outcome === 'full') throw SessionErrors.limit(undefined, { headers: { 'retry-after': '1' } });
    if (outcome !== 'held') return outcome;
    // A new session has no lock, and who died may have left his place behind.
    if (clock.monotonic() >= until) throw busy();
    await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

const busy = (cause?: unknown) => SessionErrors.busy(undefined, { cause });
