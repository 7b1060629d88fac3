import type { Clock } from '../base/clock.ts';
import { LeaseErrors } from './lease-request.ts';
import type { LeaseStore, LeaseTicket } from './lease-store.ts';
import type { Lease } from './leases.ts';

/** Longest time before the end of a lease at which its holder learns that it is lost; of short leases a tenth. */
const MARGIN_MS = 500;

/** What a held lease needs. */
export interface HeldLeaseParts {
  /** Granted. */
  readonly ticket: LeaseTicket;
  /** The time of the monotonic clock at which it was asked for. */
  readonly asked: number;
  readonly store: LeaseStore;
  readonly clock: Clock;
  /** Called once when the lease is lost while it is held, with what kept it from being renewed, where something did. */
  readonly lost: (cause: unknown) => void;
  /** Called once at the release; resolves when the store knows of it, and never rejects. */
  readonly released: () => Promise<void>;
}

/** A lease in the hands of its holder: renewed until it is released, and lost when that does not succeed in time. */
export class HeldLease implements Lease {
  readonly key: string;
  readonly name: string;
  readonly #parts: HeldLeaseParts;
  readonly #abort = new AbortController();
  /** Counted from before the question, so that the lease ends here before it ends in the store. */
  #heldUntil: number;
  #renewal: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  /** What kept the latest renewals from coming through. */
  #failure: unknown;
  #isOver = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldLeaseParts) {
    this.key = parts.ticket.key;
    this.name = parts.ticket.name;
    this.#parts = parts;
    this.#heldUntil = parts.asked + parts.ticket.ttl;
    if (!parts.store.isLeased) return;
    this.#renewIn(parts.ticket.ttl / 3);
    this.#watch();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  release(): Promise<void> {
    this.#end();
    // A renewal under way could take the lease again after the release.
    this.#released ??= this.#renewing.then(this.#parts.released);
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Asks the holder to end. The lease stays with it until it is released. */
  revoke(): void {
    if (!this.#isOver) this.#abort.abort(LeaseErrors.revoked());
  }

  /** Takes the lease from its holder, who learns of it by the signal. */
  lose(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#parts.lost(reason.cause);
    this.#abort.abort(reason);
  }

  /** Renews the lease now rather than at its next third. */
  renewNow(): void {
    if (!this.#isOver && this.#parts.store.isLeased) this.#startRenewal();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#renewal);
    clearTimeout(this.#deadline);
  }

  #renewIn(milliseconds: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => this.#startRenewal(), milliseconds);
    this.#renewal.unref();
  }

  #startRenewal(): void {
    this.#renewing = this.#renewing.then(() => this.#renew());
  }

  async #renew(): Promise<void> {
    const { store, ticket, clock } = this.#parts;
    // A process that was suspended may come here after its lease: what is lost is not taken again.
    this.#watch();
    if (this.#isOver) return;
    const asked = clock.monotonic();
    // The store is away: what counts is how long the lease lasts.
    const outcome = await store.renew(ticket).catch((error: unknown) => {
      this.#failure = error;
    });
    if (this.#isOver) return;
    if (outcome === 'gone') this.#heldUntil = Number.NEGATIVE_INFINITY;
    else if (outcome !== undefined) {
      this.#heldUntil = asked + ticket.ttl;
      this.#failure = undefined;
    }
    this.#watch();
    if (this.#isOver) return;
    if (outcome === 'revoked') this.revoke();
    this.#renewIn(outcome === undefined ? ticket.ttl / 20 : ticket.ttl / 3);
  }

  /** Looks at the lease whenever it could have come near its end. */
  #watch(): void {
    const { ticket, clock } = this.#parts;
    clearTimeout(this.#deadline);
    const left = this.#heldUntil - clock.monotonic() - Math.min(ticket.ttl / 10, MARGIN_MS);
    if (left <= 0) {
      this.lose(LeaseErrors.lost(undefined, { cause: this.#failure }));
      return;
    }
    this.#deadline = setTimeout(() => this.#watch(), Math.ceil(left));
    this.#deadline.unref();
  }
}
