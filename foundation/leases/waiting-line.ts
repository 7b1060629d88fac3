import { LeaseErrors, type LeaseRequest } from './lease-request.ts';

/** Ends a turn and lets the next one in; again is without effect. */
export type Leave = () => void;

/** Most that wait for one lease in a process. */
const MAX_WAITERS = 10_000;
/** Most that wait in a process, for all leases. */
const MAX_WAITERS_IN_ALL = 100_000;

/**
 * The line of this process in front of the store: one for each lease, first come, first served. Only the one whose turn
 * it is asks the store, so that a process has one waiter for a lease there, however many it has itself.
 */
export function createWaitingLine() {
  /** A lease is here while a caller has the turn; the set has the callers that wait, in their order. */
  const leases = new Map<string, Set<() => void>>();
  let waiting = 0;

  /** The turn, when it is free. */
  function tryEnter(lease: string): Leave | undefined {
    if (leases.has(lease)) return undefined;
    leases.set(lease, new Set());
    return turn(lease);
  }

  function turn(lease: string): Leave {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      next(lease);
    };
  }

  function next(lease: string): void {
    const line = leases.get(lease)!;
    const [admit] = line;
    if (admit === undefined) {
      leases.delete(lease);
      return;
    }
    line.delete(admit);
    admit();
  }

  return {
    tryEnter,

    /** Waits for the turn. @throws LeaseErrors.tooManyWaiters, or what ended the wait */
    async enter(lease: string, deadline: WaitDeadline): Promise<Leave> {
      const line = leases.get(lease);
      if (line === undefined) return tryEnter(lease)!;
      if (line.size >= MAX_WAITERS || waiting >= MAX_WAITERS_IN_ALL) throw LeaseErrors.tooManyWaiters();
      const { promise, resolve: admit } = Promise.withResolvers<void>();
      line.add(admit);
      waiting += 1;
      try {
        await deadline.race(promise);
        return turn(lease);
      } catch (reason) {
        // The turn may have come in the same moment in which the wait ended: it goes to the next.
        if (!line.delete(admit)) next(lease);
        throw reason;
      } finally {
        waiting -= 1;
      }
    },
  };
}

/** How long one caller waits: until its time is over, its signal aborts, or the leases are closed. */
export class WaitDeadline {
  readonly #end = Promise.withResolvers<never>();
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.end(this.#signal?.reason);
  #isOver = false;
  #reason: unknown;

  constructor({ wait, signal }: Pick<LeaseRequest, 'wait' | 'signal'>) {
    this.#signal = signal;
    this.#end.promise.catch(() => {}); // it may end between two waits
    this.#timer = setTimeout(() => this.end(LeaseErrors.timeout()), wait);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted === true) this.#onAbort();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the wait ended. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Ends the wait now, with this reason; later ends are without effect. */
  end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#end.reject(reason);
  }

  /** What `work` brings, or a rejection with the reason as soon as the wait ends. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#end.promise, work]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}
