import type { Clock } from '../../base/clock.ts';
import { PermitErrors } from './errors.ts';
import type { PermitStore, TicketPlace } from './permit-store.ts';
import type { Permit } from './permits.ts';

/** Longest time before the end of a lease at which the holder is told that the place is lost; of short leases a tenth. */
const MARGIN_MS = 500;

/** What a held permit needs. */
export interface HeldPermitParts {
  /** Granted. */
  readonly place: TicketPlace;
  /** The time of the monotonic clock at which it was asked for. */
  readonly asked: number;
  readonly store: PermitStore;
  readonly clock: Clock;
  /** Called once when the place is lost while it is held. */
  readonly lost: () => void;
  /** Called once at the release; resolves when the store knows of it, and never rejects. */
  readonly released: () => Promise<void>;
}

/** A place in the hands of its holder: renewed until it is released, and lost when that does not succeed in time. */
export class HeldPermit implements Permit {
  readonly key: string;
  readonly name: string;
  readonly #parts: HeldPermitParts;
  readonly #abort = new AbortController();
  /** Counted from before the question, so that the lease ends here before it ends in the store. */
  #heldUntil: number;
  #renewal: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #isOver = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldPermitParts) {
    this.key = parts.place.key;
    this.name = parts.place.name;
    this.#parts = parts;
    this.#heldUntil = parts.asked + parts.place.lease;
    if (!parts.store.isLeased) return;
    this.#renewIn(parts.place.lease / 3);
    this.#watch();
  }

  get ticket(): string {
    return this.#parts.place.ticket;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  release(): Promise<void> {
    this.#end();
    // A renewal under way could take the place again after the release.
    this.#released ??= this.#renewing.then(this.#parts.released);
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Asks the holder to end. The place stays his until he releases it. */
  revoke(): void {
    if (!this.#isOver) this.#abort.abort(PermitErrors.revoked());
  }

  /** Takes the place from its holder, who learns of it by the signal. */
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
    this.#renewal = setTimeout(() => {
      this.#renewing = this.#renew();
    }, milliseconds);
    this.#renewal.unref();
  }

  async #renew(): Promise<void> {
    const { store, place, clock } = this.#parts;
    // A process that stood still may come here after its lease: what is lost is not taken again.
    this.#watch();
    if (this.#isOver) return;
    const asked = clock.monotonic();
    const outcome = await store.renew(place).catch(() => undefined); // the store is away: what counts is how long the lease lasts
    if (this.#isOver) return;
    if (outcome === 'gone') this.#heldUntil = Number.NEGATIVE_INFINITY;
    else if (outcome !== undefined) this.#heldUntil = asked + place.lease;
    this.#watch();
    if (this.#isOver) return;
    if (outcome === 'revoked') this.revoke();
    this.#renewIn(outcome === undefined ? place.lease / 20 : place.lease / 3);
  }

  /** Looks at the lease whenever it could have come near its end. */
  #watch(): void {
    const { place, clock } = this.#parts;
    clearTimeout(this.#deadline);
    const left = this.#heldUntil - clock.monotonic() - Math.min(place.lease / 10, MARGIN_MS);
    if (left <= 0) {
      this.lose(PermitErrors.lost());
      return;
    }
    this.#deadline = setTimeout(() => this.#watch(), Math.ceil(left));
    this.#deadline.unref();
  }
}
