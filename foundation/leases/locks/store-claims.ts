import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Claim, Claims } from './claim.ts';
import type { LockStore } from './lock-store.ts';

/** Claims to the locks of one store. */
export function createStoreClaims(parts: {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly ids: Ids;
}): Claims {
  const { store, clock, ids } = parts;
  return {
    claim: (key, lease) => new StoreClaim(store, clock, { key, lease, ticket: ids.opaque() }),
    onFree: (listener) => store.onFree(listener),
    close: () => store.close(),
  };
}

class StoreClaim implements Claim {
  fence = 0;
  readonly #store: LockStore;
  readonly #clock: Clock;
  readonly #request: { readonly key: string; readonly lease: number; readonly ticket: string };
  #heldUntil = Number.NEGATIVE_INFINITY;
  #isKnown = false;

  constructor(store: LockStore, clock: Clock, request: { key: string; lease: number; ticket: string }) {
    this.#store = store;
    this.#clock = clock;
    this.#request = request;
  }

  async attempt(inLine: boolean): Promise<boolean> {
    this.#isKnown = true;
    // Counted from before the question, so that the lease ends here before it ends in the store.
    const asked = this.#clock.monotonic();
    const line = inLine ? 'wait' : 'look';
    const grant = await this.#store.take({ ...this.#request, line, above: this.fence });
    if (grant === undefined) return false;
    this.fence = grant.fence;
    this.#heldUntil = asked + this.#request.lease;
    return true;
  }

  async renew(): Promise<void> {
    const asked = this.#clock.monotonic();
    const isHeld = await this.#store.renew({ ...this.#request, fence: this.fence });
    this.#heldUntil = isHeld ? asked + this.#request.lease : Number.NEGATIVE_INFINITY;
  }

  heldUntil(): number {
    return this.#heldUntil;
  }

  async release(): Promise<void> {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    if (this.#isKnown) await this.#store.release({ ...this.#request, fence: this.fence });
  }
}
