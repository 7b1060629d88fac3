import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoffDelay } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/deadline.ts';
import type { Ids } from '../base/ids.ts';
import { assertOutsideTransaction } from '../data/transaction-guard.ts';
import type { Logger } from '../observability/logger.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import { HeldLease } from './held-lease.ts';
import { codeOf, leaseMetrics } from './lease-metrics.ts';
import { checkPlace, LeaseErrors, type LeaseRequest, leaseRequest } from './lease-request.ts';
import type { LeaseSignals } from './lease-signals.ts';
import type { LeasePlace, LeaseStore, LeaseTicket } from './lease-store.ts';
import type { HeldPlace, Lease, LeaseOptions, LeaseRefusal, LeaseWaitOptions, OpenLeases } from './leases.ts';
import { type Leave, WaitDeadline, WaitingLine } from './waiting-line.ts';

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
  /** Without it waiters in other processes ask twice a second, and holders there learn of a revocation with their next renewal. */
  readonly signals?: LeaseSignals | undefined;
}

/** One asking, with what its store may have of it. */
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

/** A name under a key; a NUL is in neither. */
const labelOf = ({ key, name }: LeasePlace) => `${key}\0${name}`;

/** Leases over any store: first the line of this process, then the store's, then a lease that is renewed until its release. */
export function createLeases(parts: LeasesParts): OpenLeases {
  return new ProcessLeases(parts);
}

class ProcessLeases implements OpenLeases {
  readonly #parts: LeasesParts;
  readonly #metrics: ReturnType<typeof leaseMetrics>;
  readonly #line = new WaitingLine();
  /** What wakes the waiter for a lease. */
  readonly #wakes = new Map<string, () => void>();
  readonly #waiting = new Set<WaitDeadline>();
  /** By ticket. */
  readonly #held = new Map<string, HeldLease>();
  /** Questions to the store and leases that are being given back: the end waits for them. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #ends: ((() => void) | undefined)[];
  #closing: Promise<void> | undefined;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
    this.#metrics = leaseMetrics(parts.metrics);
    this.#ends = [
      parts.signals?.subscribe({
        freed: (place) => this.#wakes.get(labelOf(place))?.(),
        revoked: (ticket) => this.#held.get(ticket)?.revoke(),
      }),
      parts.store.onHandover?.(() => {
        for (const lease of this.#held.values()) lease.renewNow();
      }),
    ];
  }

  async acquire(key: string, options?: LeaseWaitOptions): Promise<Lease> {
    const request = this.#check(key, options);
    request.signal?.throwIfAborted();
    const started = this.#parts.clock.monotonic();
    using deadline = new WaitDeadline(request);
    this.#waiting.add(deadline);
    const observe = (error?: unknown) =>
      this.#metrics.waited(error, (this.#parts.clock.monotonic() - started) / 1_000);
    try {
      const leave = await this.#line.enter(labelOf(request), deadline);
      const lease = await this.#wait(this.#claim(request), leave, deadline);
      observe();
      return lease;
    } catch (error) {
      observe(error);
      throw error;
    } finally {
      this.#waiting.delete(deadline);
    }
  }

  async tryAcquire(key: string, options?: LeaseOptions): Promise<Lease | LeaseRefusal> {
    const request = this.#check(key, options);
    const leave = this.#line.tryEnter(labelOf(request));
    const claim = this.#claim(request);
    let outcome: 'granted' | LeaseRefusal = 'held';
    if (leave !== undefined) {
      try {
        outcome = await this.#ask(claim, false);
        if (outcome === 'granted' && this.#closing === undefined) return this.#hold(claim, leave);
      } catch (cause) {
        void this.#giveBack(claim, leave);
        throw unavailable(cause);
      }
      void this.#giveBack(claim, leave);
      if (outcome === 'granted' || this.#closing !== undefined) throw closed();
    }
    this.#metrics.refused(outcome as LeaseRefusal);
    return outcome as LeaseRefusal;
  }

  async withLease<T>(key: string, options: LeaseWaitOptions, work: (lease: Lease) => Promise<T>): Promise<T> {
    await using lease = await this.acquire(key, options);
    return await work(lease);
  }

  async find(key: string, name?: string): Promise<HeldPlace | undefined> {
    return this.#askAbout(key, name, (place) => this.#parts.store.find(place));
  }

  async revoke(key: string, name?: string): Promise<boolean> {
    const ticket = await this.#askAbout(key, name, (place) => this.#parts.store.revoke(place));
    if (ticket === undefined) return false;
    const lease = this.#held.get(ticket);
    if (lease === undefined) this.#parts.signals?.revoked(ticket);
    else lease.revoke();
    return true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #check(key: string, options?: LeaseWaitOptions): LeaseRequest {
    const request = leaseRequest(key, options);
    this.#assertUsable();
    return request;
  }

  #assertUsable(): void {
    assertOutsideTransaction('a lease');
    if (this.#closing !== undefined) throw closed();
  }

  async #askAbout<T>(key: string, name: string | undefined, question: (place: LeasePlace) => Promise<T>) {
    checkPlace(key, name);
    this.#assertUsable();
    try {
      return await question({ key, name: name ?? '' });
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  #claim({ key, name, limit, ttl, note, strict }: LeaseRequest): Claim {
    const { ids, store, strictStore = store } = this.#parts;
    return {
      ticket: { id: ids.opaque(), key, name, limit, ttl, note },
      store: strict ? strictStore : store,
      asked: Number.NEGATIVE_INFINITY,
      asking: Promise.resolve(),
      mayHold: false,
    };
  }

  async #ask(claim: Claim, inLine: boolean): Promise<'granted' | LeaseRefusal> {
    // Where the answer is lost, the lease may have been granted.
    const mayHold = claim.mayHold;
    claim.mayHold = true;
    claim.asked = this.#parts.clock.monotonic();
    const answer = this.#track(claim.store.take(claim.ticket, inLine));
    claim.asking = answer.catch(() => undefined);
    const outcome = await answer;
    if (outcome !== 'granted') claim.mayHold = mayHold || inLine;
    return outcome;
  }

  /** Asks until the lease is granted. Rejects with what ended the wait, LeaseErrors.full or LeaseErrors.unavailable. */
  async #wait(claim: Claim, leave: Leave, deadline: WaitDeadline): Promise<Lease> {
    const label = labelOf(claim.ticket);
    let failingSince: number | undefined;
    let failure: unknown;
    try {
      for (let asked = 1; ; asked += 1) {
        // A signal that comes while the question is under way counts as well.
        const woken = Promise.withResolvers<void>();
        this.#wakes.set(label, woken.resolve);
        let outcome: 'granted' | LeaseRefusal | undefined;
        try {
          outcome = await deadline.race(this.#ask(claim, true));
          failingSince = undefined;
        } catch (error) {
          if (!deadline.isOver) {
            failure = error;
            failingSince ??= claim.asked;
            if (this.#parts.clock.monotonic() - failingSince >= GRACE_MS) throw unavailable(failure);
          }
        }
        if (!deadline.isOver) {
          if (outcome === 'granted') return this.#hold(claim, leave);
          if (outcome === 'full') throw LeaseErrors.full();
          await this.#pause(asked, failingSince === undefined ? [woken.promise] : [], deadline);
        }
        if (deadline.isOver) {
          throw failingSince !== undefined && codeOf(deadline.reason) === LeaseErrors.timeout.definition.code
            ? unavailable(failure)
            : deadline.reason;
        }
      }
    } catch (error) {
      void this.#giveBack(claim, leave);
      throw error;
    } finally {
      this.#wakes.delete(label);
    }
  }

  /** Resolves when it is time for the next question, or when the wait is over. */
  async #pause(asked: number, wakes: Promise<void>[], deadline: WaitDeadline): Promise<void> {
    const random = this.#parts.ids.bytes(1).readUInt8(0) / 255;
    const pause = Promise.withResolvers<void>();
    const timer = setTimeout(pause.resolve, backoffDelay(asked, POLL, random));
    await deadline.race(Promise.race([...wakes, pause.promise])).catch(() => undefined);
    clearTimeout(timer);
  }

  #hold(claim: Claim, leave: Leave): Lease {
    const { ticket, store, asked } = claim;
    const isNamed = ticket.name !== '';
    const lease = new HeldLease({
      ticket,
      asked,
      store,
      clock: this.#parts.clock,
      lost: () => {
        this.#metrics.lost(isNamed);
        this.#parts.log.warn({ key: ticket.key }, 'a lease was lost while it was held');
      },
      released: () => {
        this.#held.delete(ticket.id);
        this.#metrics.held(isNamed, -1);
        return this.#giveBack(claim, leave);
      },
    });
    this.#held.set(ticket.id, lease);
    this.#metrics.held(isNamed, 1);
    return lease;
  }

  /** Gives back what the store may have once no question is under way any more, and lets the next of this process in. Never rejects. */
  #giveBack(claim: Claim, leave: Leave): Promise<void> {
    const { store, ticket } = claim;
    const giveBack = async () => {
      await claim.asking;
      if (claim.mayHold && (await store.release(ticket))) this.#parts.signals?.freed(ticket);
    };
    const done = giveBack()
      // The lease ends by itself, and the next waits for that.
      .catch((err: unknown) => this.#parts.log.debug({ err }, 'a lease could not be given back'))
      .then(leave);
    return this.#track(done);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const done = () => this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async #close(): Promise<void> {
    for (const end of this.#ends) end?.();
    for (const deadline of this.#waiting) deadline.end(closed());
    for (const lease of this.#held.values()) lease.lose(closed());
    for (const lease of this.#held.values()) void this.#track(lease.release());
    const ends = async () => {
      do {
        // Those who were refused now begin to give back before the next turn of the event loop.
        await nextTurn();
        await Promise.allSettled(this.#underWay);
      } while (this.#underWay.size > 0);
    };
    await within(CLOSE_MS, 'giving back leases', ends()).catch((err: unknown) =>
      this.#parts.log.warn({ err }, 'leases were not all given back; they become free when their time ends'),
    );
  }
}

const unavailable = (cause: unknown) => LeaseErrors.unavailable(undefined, { cause });
const closed = () => LeaseErrors.unavailable('The leases are closed');
