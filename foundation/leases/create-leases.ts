import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { type Lifetime, orAborted, startLifetime, within } from '../base/deadline.ts';
import type { Ids } from '../base/ids.ts';
import { TransientMap, TransientSet } from '../base/transient.ts';
import { assertOutsideTransaction } from '../data/transaction-guard.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import { HeldLease } from './held-lease.ts';
import { leaseMetrics } from './lease-metrics.ts';
import {
  checkPlace,
  LeaseErrors,
  type LeasePlace,
  type LeaseRequest,
  labelOf,
  leaseRequest,
} from './lease-request.ts';
import type { LeaseSignals } from './lease-signals.ts';
import type { LeaseStore, LeaseTicket } from './lease-store.ts';
import type { Lease, LeaseOptions, LeaseRefusal, LeaseWaitOptions, OpenLeases } from './leases.ts';
import { createWaitingLine, type Leave } from './waiting-line.ts';

/** Milliseconds that the end may wait for the store. */
const CLOSE_MS = 5_000;
/** Milliseconds between two questions, from the first to all later ones. A signal makes the next one come at once. */
const POLL = { first: 25, most: 500 };
/** Milliseconds for which a store may fail before a waiter is refused: a restart of a connection is no outage. */
const GRACE_MS = 5_000;

/** What leases are made of. */
export interface LeasesParts {
  readonly store: LeaseStore;
  /** For strict leases, where `store` may grant a name twice. */
  readonly strictStore?: LeaseStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  readonly metrics: PluginMetrics;
  /**
   * Without it waiters in other processes poll, after 25 to 500 ms, and holders there learn of a revocation with their
   * next renewal.
   */
  readonly signals?: LeaseSignals | undefined;
}

/** One request, with what its store may have of it. */
interface Claim {
  readonly ticket: LeaseTicket;
  readonly store: LeaseStore;
  /** When the store was asked last, by the monotonic clock. */
  asked: number;
  /** Settles when no question is under way. */
  asking: Promise<unknown>;
  /** The store may have a lease or a place in line of this ticket. */
  mayHold: boolean;
}

/**
 * Leases over any store: first the line of this process, then the store's, then a lease that is renewed until its
 * release.
 */
export function createLeases(parts: LeasesParts): OpenLeases {
  const { store, strictStore = store, clock, ids, log, signals } = parts;
  const metrics = leaseMetrics(parts.metrics);
  const line = createWaitingLine();
  /** What wakes the waiter for a lease. */
  const wakes = new TransientMap<string, () => void>();
  const waiting = new TransientSet<Lifetime>();
  /** By ticket. */
  const held = new TransientMap<string, HeldLease>();
  /** Questions to the store and leases that are being given back: the end waits for them. */
  const underWay = new TransientSet<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  async function acquire(key: string, options?: LeaseWaitOptions): Promise<Lease> {
    const request = check(key, options);
    request.signal?.throwIfAborted();
    return takeFree(request) ?? waitFor(request);
  }

  /** The lease where it is free and its store in this process: there is nothing to wait for then. */
  function takeFree(request: LeaseRequest): Lease | undefined {
    const { takeNow } = storeOf(request);
    const leave = takeNow && line.tryEnter(labelOf(request));
    if (takeNow === undefined || leave === undefined) return undefined;
    const claim = newClaim(request);
    if (takeNow(claim.ticket) !== 'granted') {
      leave();
      return undefined;
    }
    claim.asked = clock.monotonic();
    claim.mayHold = true;
    metrics.waited(undefined, 0);
    return hold(claim, leave);
  }

  async function waitFor(request: LeaseRequest): Promise<Lease> {
    const started = clock.monotonic();
    using deadline = startLifetime(request.signal, request.wait, () => LeaseErrors.timeout());
    waiting.add(deadline);
    const observe = (error?: unknown) => metrics.waited(error, (clock.monotonic() - started) / 1_000);
    try {
      const leave = await line.enter(labelOf(request), deadline.signal);
      const lease = await wait(newClaim(request), leave, deadline.signal);
      observe();
      return lease;
    } catch (error) {
      observe(error);
      throw error;
    } finally {
      waiting.delete(deadline);
    }
  }

  function check(key: string, options?: LeaseWaitOptions): LeaseRequest {
    const request = leaseRequest(key, options);
    assertUsable();
    return request;
  }

  function assertUsable(): void {
    assertOutsideTransaction('a lease');
    if (closing !== undefined) throw closed();
  }

  async function askAbout<T>(
    key: string,
    name: string | undefined,
    question: (place: LeasePlace) => Promise<T>,
  ) {
    checkPlace(key, name);
    assertUsable();
    try {
      return await question({ key, name: name ?? '' });
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  const storeOf = ({ strict }: LeaseRequest) => (strict ? strictStore : store);

  function newClaim(request: LeaseRequest): Claim {
    const { key, name, limit, ttl, note } = request;
    return {
      ticket: { id: ids.opaque(), key, name, limit, ttl, note },
      store: storeOf(request),
      asked: Number.NEGATIVE_INFINITY,
      asking: Promise.resolve(),
      mayHold: false,
    };
  }

  async function ask(claim: Claim, inLine: boolean): Promise<'granted' | LeaseRefusal> {
    // Where the answer is lost, the lease may have been granted.
    const mayHold = claim.mayHold;
    claim.mayHold = true;
    claim.asked = clock.monotonic();
    const answer = track(claim.store.take(claim.ticket, inLine));
    claim.asking = answer.catch(() => undefined);
    const outcome = await answer;
    if (outcome !== 'granted') claim.mayHold = mayHold || inLine;
    return outcome;
  }

  /** Asks until the lease is granted. Rejects with what ended the wait, LeaseErrors.full or LeaseErrors.unavailable. */
  async function wait(claim: Claim, leave: Leave, end: AbortSignal): Promise<Lease> {
    const label = labelOf(claim.ticket);
    let failingSince: number | undefined;
    let failure: unknown;
    try {
      for (let asked = 1; ; asked += 1) {
        // A signal that comes while the question is under way counts as well.
        const woken = Promise.withResolvers<void>();
        wakes.set(label, woken.resolve);
        let outcome: 'granted' | LeaseRefusal | undefined;
        try {
          outcome = await orAborted(ask(claim, true), end);
          failingSince = undefined;
        } catch (error) {
          if (!end.aborted) {
            failure = error;
            failingSince ??= claim.asked;
            if (clock.monotonic() - failingSince >= GRACE_MS) throw unavailable(failure);
          }
        }
        if (!end.aborted) {
          if (outcome === 'granted') return hold(claim, leave);
          if (outcome === 'full') throw LeaseErrors.full();
          await pause(asked, failingSince === undefined ? [woken.promise] : [], end);
        }
        if (end.aborted) {
          throw failingSince !== undefined && LeaseErrors.timeout.is(end.reason)
            ? unavailable(failure)
            : end.reason;
        }
      }
    } catch (error) {
      void giveBack(claim, leave);
      throw error;
    } finally {
      wakes.delete(label);
    }
  }

  /** Resolves when it is time for the next question, or when the wait is over. */
  async function pause(asked: number, wakes: Promise<void>[], end: AbortSignal): Promise<void> {
    const random = ids.bytes(1).readUInt8(0) / 255;
    const elapsed = Promise.withResolvers<void>();
    const timer = setTimeout(elapsed.resolve, backoffDelay(asked, POLL, random));
    await orAborted(Promise.race([...wakes, elapsed.promise]), end).catch(() => undefined);
    clearTimeout(timer);
  }

  function hold(claim: Claim, leave: Leave): Lease {
    const { ticket, store, asked } = claim;
    const isNamed = ticket.name !== '';
    const lease = new HeldLease({
      ticket,
      asked,
      store,
      clock,
      lost: (err) => {
        metrics.lost(isNamed);
        log.warn({ lease: ticket.key, err }, 'a lease was lost while it was held');
      },
      released: () => {
        held.delete(ticket.id);
        metrics.held(isNamed, -1);
        return giveBack(claim, leave);
      },
    });
    held.set(ticket.id, lease);
    metrics.held(isNamed, 1);
    return lease;
  }

  /**
   * Gives back what the store may have once no question is under way any more, and lets the next of this process in.
   * Never rejects.
   */
  function giveBack(claim: Claim, leave: Leave): Promise<void> {
    const { store, ticket } = claim;
    const work = async () => {
      await claim.asking;
      if (claim.mayHold && (await store.release(ticket))) signals?.freed(ticket);
    };
    const done = work()
      // The lease expires, and the next waiter waits for that.
      .catch((err: unknown) => log.debug({ err }, 'a lease could not be given back'))
      .then(leave);
    return track(done);
  }

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const done = () => underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async function closeAll(): Promise<void> {
    for (const end of ends) end?.();
    for (const deadline of waiting) deadline.abort(closed());
    for (const lease of held.values()) lease.lose(closed());
    for (const lease of held.values()) void track(lease.release());
    const givenBack = async () => {
      do {
        // Callers that were refused now begin to give back before the next turn of the event loop.
        await nextTurn();
        await Promise.allSettled(underWay);
      } while (underWay.size > 0);
    };
    await within(CLOSE_MS, 'giving back leases', givenBack()).catch((err: unknown) =>
      log.warn({ err }, 'leases were not all given back; they become free when their time ends'),
    );
  }

  const ends = [
    signals?.subscribe({
      freed: (place) => wakes.get(labelOf(place))?.(),
      revoked: (ticket) => held.get(ticket)?.revoke(),
    }),
    store.onHandover?.(() => {
      for (const lease of held.values()) lease.renewNow();
    }),
  ];

  return {
    acquire,

    async tryAcquire(key: string, options?: LeaseOptions): Promise<Lease | LeaseRefusal> {
      const request = check(key, options);
      const leave = line.tryEnter(labelOf(request));
      const claim = newClaim(request);
      let outcome: 'granted' | LeaseRefusal = 'held';
      if (leave !== undefined) {
        try {
          outcome = await ask(claim, false);
          if (outcome === 'granted' && closing === undefined) return hold(claim, leave);
        } catch (cause) {
          void giveBack(claim, leave);
          throw unavailable(cause);
        }
        void giveBack(claim, leave);
        if (outcome === 'granted' || closing !== undefined) throw closed();
      }
      metrics.refused(outcome as LeaseRefusal);
      return outcome as LeaseRefusal;
    },

    async withLease<T>(
      key: string,
      options: LeaseWaitOptions,
      work: (lease: Lease) => Promise<T>,
    ): Promise<T> {
      await using lease = await acquire(key, options);
      return await work(lease);
    },

    find: (key, name) => askAbout(key, name, (place) => store.find(place)),

    list: (key) => askAbout(key, undefined, () => store.list(key)),

    async revoke(key: string, name?: string): Promise<boolean> {
      const ticket = await askAbout(key, name, (place) => store.revoke(place));
      if (ticket === undefined) return false;
      const lease = held.get(ticket);
      if (lease === undefined) signals?.revoked(ticket);
      else lease.revoke();
      return true;
    },

    close(): Promise<void> {
      closing ??= closeAll();
      return closing;
    },
  };
}

const unavailable = (cause: unknown) => LeaseErrors.unavailable(undefined, { cause });
const closed = () => LeaseErrors.unavailable('The leases are closed');
