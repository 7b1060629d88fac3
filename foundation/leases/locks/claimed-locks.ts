import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import type { Ids } from '../../base/ids.ts';
import { assertOutsideTransaction } from '../../data/transaction-guard.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Claim, Claims } from './claim.ts';
import { LockErrors } from './errors.ts';
import { HeldLock } from './held-lock.ts';
import { type Leave, Line } from './line.ts';
import { type LockObserver, unobserved, type WaitOutcome } from './lock-metrics.ts';
import { type LockRequest, lockRequest } from './lock-request.ts';
import type { Lock, OpenLocks } from './locks.ts';
import { Patience } from './patience.ts';
import { StoreLine } from './store-line.ts';

/** Milliseconds that the end may wait for the store. */
const CLOSE_MS = 5_000;

/** What locks are made of. */
export interface ClaimedLocksParts {
  readonly claims: Claims;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  readonly observer?: LockObserver;
}

/** Locks of any form: first the line of this process, then the store's, then a lock that is renewed until its release. */
export function createLocks(parts: ClaimedLocksParts): OpenLocks {
  return new ClaimedLocks(parts);
}

class ClaimedLocks implements OpenLocks {
  readonly #claims: Claims;
  readonly #clock: Clock;
  readonly #log: ClaimedLocksParts['log'];
  readonly #observer: LockObserver;
  readonly #line = new Line();
  readonly #storeLine: StoreLine;
  readonly #waiting = new Set<Patience>();
  readonly #held = new Set<HeldLock>();
  /** Questions to the store and claims that are being given back: the end waits for them. */
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor({ claims, clock, ids, log, observer = unobserved }: ClaimedLocksParts) {
    this.#claims = claims;
    this.#clock = clock;
    this.#log = log;
    this.#observer = observer;
    this.#storeLine = new StoreLine({ claims, clock, ids });
  }

  async acquire(key: string, options?: Parameters<OpenLocks['acquire']>[1]): Promise<Lock> {
    const request = this.#check(key, options);
    request.signal?.throwIfAborted();
    const started = this.#clock.monotonic();
    using patience = new Patience(request, LockErrors.timeout);
    this.#waiting.add(patience);
    try {
      const lock = await this.#acquire(request, patience);
      this.#observe('acquired', started);
      return lock;
    } catch (error) {
      this.#observe(outcomeOf(error), started);
      throw error;
    } finally {
      this.#waiting.delete(patience);
    }
  }

  async tryAcquire(key: string, options?: Parameters<OpenLocks['tryAcquire']>[1]): Promise<Lock | undefined> {
    const request = this.#check(key, options);
    const leave = this.#line.tryEnter(key);
    if (leave === undefined) return undefined;
    const claim = this.#claims.claim(key, request.lease);
    try {
      const isGranted = await this.#track(claim.attempt(false));
      if (isGranted && this.#closing === undefined) return this.#hold(request, claim, leave);
    } catch (cause) {
      this.#giveBack(claim, leave);
      throw LockErrors.unavailable(undefined, { cause });
    }
    this.#giveBack(claim, leave);
    if (this.#closing !== undefined) throw closed();
    return undefined;
  }

  async withLock<T>(
    key: string,
    options: Parameters<OpenLocks['withLock']>[1],
    work: (lock: Lock) => Promise<T>,
  ): Promise<T> {
    await using lock = await this.acquire(key, options);
    return await work(lock);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #check(key: string, options?: Parameters<typeof lockRequest>[1]): LockRequest {
    const request = lockRequest(key, options);
    assertOutsideTransaction('a lock');
    if (this.#closing !== undefined) throw closed();
    return request;
  }

  async #acquire(request: LockRequest, patience: Patience): Promise<Lock> {
    const leave = await this.#line.enter(request.key, patience);
    const claim = this.#claims.claim(request.key, request.lease);
    const turn = this.#storeLine.wait(request.key, claim, patience);
    try {
      await turn.granted;
    } catch (error) {
      this.#giveBack(claim, leave, turn.settled);
      throw error;
    }
    if (!patience.isOver) return this.#hold(request, claim, leave);
    this.#giveBack(claim, leave);
    throw patience.reason;
  }

  #hold(request: LockRequest, claim: Claim, leave: Leave): Lock {
    const { key, lease } = request;
    const lock = new HeldLock({
      key,
      lease,
      claim,
      clock: this.#clock,
      lost: () => {
        this.#observer.lost();
        this.#log.warn({ key, fence: claim.fence }, 'a lock was lost while it was held');
      },
      released: () => {
        this.#held.delete(lock);
        this.#observer.held(-1);
        return this.#giveBack(claim, leave);
      },
    });
    this.#held.add(lock);
    this.#observer.held(1);
    return lock;
  }

  /** Gives the claim back once nothing is under way for it any more, and lets the next of this process in. Never rejects. */
  #giveBack(claim: Claim, leave: Leave, settled: Promise<unknown> = Promise.resolve()): Promise<void> {
    const release = settled
      .then(() => claim.release())
      .catch((err: unknown) => {
        // The outage is logged by the form. The lease ends by itself, and the next waits for that.
        this.#log.debug({ err }, 'a lock could not be given back');
      })
      .then(leave);
    return this.#track(release);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const done = () => this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  #observe(outcome: WaitOutcome, started: number): void {
    this.#observer.waited(outcome, (this.#clock.monotonic() - started) / 1_000);
  }

  async #close(): Promise<void> {
    for (const patience of this.#waiting) patience.end(closed());
    for (const lock of this.#held) lock.lose(closed());
    for (const lock of this.#held) void lock.release();
    const ends = async () => {
      do {
        // Those who were refused now begin to give back before the next turn of the event loop.
        await nextTurn();
        await Promise.allSettled(this.#underWay);
      } while (this.#underWay.size > 0);
    };
    await within(CLOSE_MS, 'giving back locks', ends()).catch((err: unknown) =>
      this.#log.warn({ err }, 'locks were not all given back; they become free when their leases end'),
    );
    await within(CLOSE_MS, 'closing the locks', this.#claims.close()).catch((err: unknown) =>
      this.#log.warn({ err }, 'the locks did not close in order'),
    );
  }
}

const closed = () => LockErrors.unavailable('The locks are closed');

const OUTCOMES: Readonly<Record<string, WaitOutcome>> = {
  [LockErrors.timeout.definition.code]: 'timeout',
  [LockErrors.tooManyWaiters.definition.code]: 'refused',
  [LockErrors.unavailable.definition.code]: 'unavailable',
};

const outcomeOf = (error: unknown): WaitOutcome =>
  (error instanceof GatewayError ? OUTCOMES[error.code] : undefined) ?? 'aborted';
