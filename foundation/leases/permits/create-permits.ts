import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import type { Ids } from '../../base/ids.ts';
import { assertOutsideTransaction } from '../../data/transaction-guard.ts';
import type { Logger } from '../../observability/logger.ts';
import { PermitErrors } from './errors.ts';
import { HeldPermit } from './held-permit.ts';
import { type PermitObserver, unobserved } from './permit-metrics.ts';
import { checkPlace, permitRequest } from './permit-request.ts';
import type { PermitStore, TicketPlace } from './permit-store.ts';
import type { OpenPermits } from './permits.ts';
import type { Revocations } from './revocations.ts';

/** Milliseconds that the end may wait for the store. */
const CLOSE_MS = 5_000;

/** What permits are made of. */
export interface PermitsParts {
  readonly store: PermitStore;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'opaque'>;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** Without it, holders in other processes learn of a revocation with their next renewal. */
  readonly revocations?: Revocations | undefined;
  readonly observer?: PermitObserver | undefined;
}

/** Permits of any form. */
export function createPermits(parts: PermitsParts): OpenPermits {
  const { store, clock, ids, log, revocations, observer = unobserved } = parts;
  const held = new Map<string, HeldPermit>();
  /** What is being given back: the end waits for it. */
  const underWay = new Set<Promise<void>>();
  let closing: Promise<void> | undefined;
  const unsubscribe = revocations?.subscribe((ticket) => held.get(ticket)?.revoke());

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    assertOutsideTransaction('a permit');
    if (closing !== undefined) throw closed();
    try {
      return await question();
    } catch (cause) {
      throw cause instanceof GatewayError ? cause : PermitErrors.unavailable(undefined, { cause });
    }
  }

  /** Never rejects. */
  function giveBack(place: TicketPlace): Promise<void> {
    const release = store.release(place).catch((err: unknown) => {
      // The place becomes free by itself when its lease ends.
      log.debug({ err }, 'a permit could not be given back');
    });
    const tracked = release.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return tracked;
  }

  function hold(place: TicketPlace, asked: number): HeldPermit {
    const permit = new HeldPermit({
      ...{ place, asked, store, clock },
      lost: () => {
        observer.lost();
        log.warn({ key: place.key }, 'a permit was lost while it was held');
      },
      released: () => {
        held.delete(place.ticket);
        observer.held(-1);
        return giveBack(place);
      },
    });
    held.set(place.ticket, permit);
    observer.held(1);
    return permit;
  }

  async function close(): Promise<void> {
    unsubscribe?.();
    const releases = [...held.values()].map((permit) => {
      permit.lose(closed());
      return permit.release();
    });
    await within(CLOSE_MS, 'giving back permits', Promise.all([...releases, ...underWay])).catch(
      (err: unknown) =>
        log.warn({ err }, 'permits were not all given back; their places become free when their leases end'),
    );
    await within(CLOSE_MS, 'closing the permits', store.close()).catch((err: unknown) =>
      log.warn({ err }, 'the permits did not close in order'),
    );
  }

  return {
    tryAcquire(key, options) {
      return ask(async () => {
        const place = { ...permitRequest(key, options), ticket: ids.opaque() };
        const asked = clock.monotonic();
        const outcome = await store.take(place).catch((error: unknown) => {
          // It may have been granted and only the answer lost.
          void giveBack(place);
          throw error;
        });
        if (outcome !== 'granted') {
          observer.refused(outcome);
          return outcome;
        }
        if (closing === undefined) return hold(place, asked);
        void giveBack(place);
        throw closed();
      });
    },

    find(key, name) {
      return ask(async () => {
        checkPlace(key, name);
        return store.find({ key, name });
      });
    },

    revoke(key, name) {
      return ask(async () => {
        checkPlace(key, name);
        const ticket = await store.revoke({ key, name });
        if (ticket === undefined) return false;
        const permit = held.get(ticket);
        if (permit === undefined) revocations?.notify(ticket);
        else permit.revoke();
        return true;
      });
    },

    close() {
      closing ??= close();
      return closing;
    },
  };
}

const closed = () => PermitErrors.unavailable('The permits are closed');
