import type { Clock } from '../../base/clock.ts';
import type { Claim } from './claim.ts';
import { LockErrors } from './errors.ts';
import type { Lock } from './locks.ts';

/** Longest time before the end of a lease at which the holder is told that the lock is lost; of short leases a tenth. */
const MARGIN_MS = 500;

/** What a held lock needs. */
export interface HeldLockParts {
  readonly key: string;
  /** Milliseconds. */
  readonly lease: number;
  /** Granted. */
  readonly claim: Claim;
  readonly clock: Clock;
  /** Called once when the lock is lost while it is held. */
  readonly lost: () => void;
  /** Called once at the release, before it is waited for; resolves when the store knows of it, and never rejects. */
  readonly released: () => Promise<void>;
}

/** A lock in the hands of its holder: renewed until it is released, and lost when that does not succeed in time. */
export class HeldLock implements Lock {
  readonly key: string;
  readonly fence: number;
  readonly #parts: HeldLockParts;
  readonly #abort = new AbortController();
  #renewal: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #isOver = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldLockParts) {
    this.key = parts.key;
    this.fence = parts.claim.fence;
    this.#parts = parts;
    if (parts.claim.heldUntil() === Number.POSITIVE_INFINITY) return;
    this.#renewIn(parts.lease / 3);
    this.#watch();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  release(): Promise<void> {
    this.#end();
    this.#released ??= this.#parts.released();
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Takes the lock from its holder, who learns of it by the signal. */
  lose(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#parts.lost();
    this.#abort.abort(reason);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#renewal);
    clearTimeout(this.#deadline);
  }

  #renewIn(milliseconds: number): void {
    this.#renewal = setTimeout(() => void this.#renew(), milliseconds);
    this.#renewal.unref();
  }

  async #renew(): Promise<void> {
    const { claim, lease } = this.#parts;
    const isRenewed = await claim.renew().then(
      () => true,
      () => false, // the store is away, which its form logs; what counts is how long the lease still lasts
    );
    if (this.#isOver) return;
    this.#watch();
    if (!this.#isOver) this.#renewIn(isRenewed ? lease / 3 : lease / 20);
  }

  /** Looks at the lease whenever it could have come near its end. */
  #watch(): void {
    const { claim, lease, clock } = this.#parts;
    clearTimeout(this.#deadline);
    const left = claim.heldUntil() - clock.monotonic() - Math.min(lease / 10, MARGIN_MS);
    if (left <= 0) {
      this.lose(LockErrors.lost());
      return;
    }
    this.#deadline = setTimeout(() => this.#watch(), Math.ceil(left));
    this.#deadline.unref();
  }
}
