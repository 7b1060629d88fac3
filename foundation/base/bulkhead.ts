import type { Clock } from './clock.ts';
import { recentMap } from './recent-map.ts';
import type { Release } from './semaphore.ts';

/** Milliseconds above which a request is slow: its receiver hangs, or may as well. */
const SLOW_MS = 3_000;
/** Assumed milliseconds for a request to a receiver that is not known to be slow. */
const USUAL_MS = 10;
/** A tenant gets another place while it has less than so many times what is free: at most three quarters of all. */
const TENANT_SHARE = 3;
/** Receivers that are remembered, those that were used last. */
const MOST_REMEMBERED = 10_000;

interface Receiver {
  /** When the requests under way began, the earliest first; monotonic. */
  readonly underWay: Set<Request>;
  /** Milliseconds that the latest request took. */
  tookMs: number;
}

interface Request {
  readonly tenant: string;
  readonly began: number;
}

/** A number of places, and how many of them each tenant has. */
class Places {
  #free: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#free = most;
  }

  hasOneFor(tenant: string): boolean {
    return (this.#taken.get(tenant) ?? 0) < TENANT_SHARE * this.#free;
  }

  count(tenant: string, change: 1 | -1): void {
    const taken = (this.#taken.get(tenant) ?? 0) + change;
    if (taken === 0) this.#taken.delete(tenant);
    else this.#taken.set(tenant, taken);
    this.#free -= change;
  }
}

/**
 * The places of this process for requests to receivers that tenants chose, so that those that hang hold up no other:
 *
 * - A receiver is slow when its latest request took more than three seconds, or one under way does; it is so until one
 *   takes less. Whether it answered well does not matter.
 * - Slow ones have half of the places at most, so that the others always have the rest. Receivers that hang and are not
 *   known to may have more, but once: they count among the slow ones as soon as their time is over.
 * - A tenant gets a place while it has less than three times those that are free, of all and of those of slow ones:
 *   alone it has three quarters at most, and the next one three quarters of the rest. They are all taken only where
 *   many tenants want many places within one timeout.
 * - Receivers are remembered while they are slow or have requests under way: 10,000, those that were used last.
 *
 * It keeps no line: where there is no place the caller comes again.
 */
export class Bulkhead {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #all: Places;
  readonly #slow: Places;
  readonly #receivers = recentMap<Receiver>(MOST_REMEMBERED);
  /** Requests that have no place of the slow ones, the earliest first. */
  readonly #inTime = new Set<Request>();

  constructor(places: number, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#all = new Places(places);
    this.#slow = new Places(places / 2);
  }

  /** A place for a request that begins now, as the function that ends it; undefined where there is none. */
  enter(id: string, tenant: string): Release | undefined {
    this.#findSlow();
    const isSlow = this.isSlow(id);
    if (!this.#all.hasOneFor(tenant) || (isSlow && !this.#slow.hasOneFor(tenant))) return undefined;
    const receiver = this.#receivers.get(id) ?? { underWay: new Set(), tookMs: USUAL_MS };
    this.#receivers.set(id, receiver);
    const request = { tenant, began: this.#clock.monotonic() };
    receiver.underWay.add(request);
    this.#all.count(tenant, 1);
    if (isSlow) this.#slow.count(tenant, 1);
    else this.#inTime.add(request);
    return () => this.#leave(id, receiver, request);
  }

  isSlow(id: string): boolean {
    return this.usualMs(id) > SLOW_MS;
  }

  /** Milliseconds that a request to the receiver takes: the latest one, or one under way that takes longer. */
  usualMs(id: string): number {
    const { underWay = [], tookMs = USUAL_MS } = this.#receivers.get(id) ?? {};
    const [earliest] = underWay;
    return earliest === undefined ? tookMs : Math.max(tookMs, this.#clock.monotonic() - earliest.began);
  }

  #findSlow(): void {
    const before = this.#clock.monotonic() - SLOW_MS;
    for (const request of this.#inTime) {
      if (request.began >= before) return;
      this.#inTime.delete(request);
      this.#slow.count(request.tenant, 1);
    }
  }

  #leave(id: string, receiver: Receiver, request: Request): void {
    const { tenant, began } = request;
    if (!receiver.underWay.delete(request)) return;
    this.#all.count(tenant, -1);
    if (!this.#inTime.delete(request)) this.#slow.count(tenant, -1);
    receiver.tookMs = this.#clock.monotonic() - began;
    const isForgotten = receiver.underWay.size === 0 && receiver.tookMs <= SLOW_MS;
    if (isForgotten && this.#receivers.get(id) === receiver) this.#receivers.delete(id);
  }
}
