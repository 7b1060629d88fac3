import { backoffDelay } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import type { Ids } from '../../base/ids.ts';
import type { Claim, Claims } from './claim.ts';
import { LockErrors } from './errors.ts';
import type { Patience } from './patience.ts';

/** Milliseconds between two questions, from the first to all later ones. A hint makes the next one come at once. */
const POLL = { first: 25, most: 500 };
/** Milliseconds for which a store may fail before a waiter is told: a restart of a connection is no outage. */
const GRACE_MS = 5_000;

/** A wait in the store's line. */
export interface StoreTurn {
  /** Resolves when the claim is granted. Rejects with what ended the patience, or with LockErrors.unavailable. */
  readonly granted: Promise<void>;
  /** Resolves, after `granted` has settled, when no attempt is under way any more. */
  readonly settled: Promise<unknown>;
}

/** Asks the store for those whose turn it is in this process, at most one for a key, until the lock is theirs. */
export class StoreLine {
  readonly #clock: Clock;
  readonly #ids: Ids;
  /** What wakes the waiter of a key. */
  readonly #wakes = new Map<string, () => void>();

  constructor({ claims, clock, ids }: { claims: Claims; clock: Clock; ids: Ids }) {
    this.#clock = clock;
    this.#ids = ids;
    claims.onFree((key) => this.#wakes.get(key)?.());
  }

  wait(key: string, claim: Claim, patience: Patience): StoreTurn {
    const under = { way: Promise.resolve(false) };
    const granted = this.#wait(key, claim, patience, under);
    const settled = granted.then(
      () => undefined,
      () => under.way.catch(() => false), // told by `granted` already
    );
    return { granted, settled };
  }

  async #wait(
    key: string,
    claim: Claim,
    patience: Patience,
    under: { way: Promise<boolean> },
  ): Promise<void> {
    let failingSince: number | undefined;
    let failure: unknown;
    for (let asked = 1; ; asked += 1) {
      const started = this.#clock.monotonic();
      // A hint that comes while the question is under way counts as well.
      const hint = Promise.withResolvers<void>();
      this.#wakes.set(key, hint.resolve);
      try {
        under.way = claim.attempt(true);
        if (await patience.wait(under.way)) return;
        failingSince = undefined;
        await this.#pause(asked, hint.promise, patience);
      } catch (error) {
        if (patience.isOver) {
          const { reason } = patience;
          throw failingSince !== undefined && isTimeout(reason) ? away(failure) : reason;
        }
        failingSince ??= started;
        failure = error;
        if (this.#clock.monotonic() - failingSince >= GRACE_MS) throw away(failure);
        await this.#pause(asked, Promise.withResolvers<void>().promise, patience);
      } finally {
        this.#wakes.delete(key);
      }
    }
  }

  async #pause(asked: number, hint: Promise<void>, patience: Patience): Promise<void> {
    const random = this.#ids.bytes(1).readUInt8(0) / 255;
    const pause = Promise.withResolvers<void>();
    const timer = setTimeout(pause.resolve, backoffDelay(asked, POLL, random));
    try {
      await patience.wait(Promise.race([hint, pause.promise]));
    } finally {
      clearTimeout(timer);
    }
  }
}

const isTimeout = (error: unknown) =>
  error instanceof GatewayError && error.code === LockErrors.timeout.definition.code;

const away = (cause: unknown) => LockErrors.unavailable(undefined, { cause });
