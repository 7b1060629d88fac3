import { LockErrors } from './errors.ts';
import type { Patience } from './patience.ts';

/** Ends a turn and lets the next one in; again is without effect. */
export type Leave = () => void;

/** Most that wait for one key in a process. */
const MAX_WAITERS = 10_000;
/** Most that wait in a process, for all keys. */
const MAX_WAITERS_IN_ALL = 100_000;

/**
 * The line of this process in front of the store: one for each key, first come, first served. Only the one whose turn it
 * is asks the store, so that a process has one waiter for a key there, however many it has itself.
 */
export class Line {
  /** A key is here while somebody has the turn; the set has those who wait, in their order. */
  readonly #keys = new Map<string, Set<() => void>>();
  #waiting = 0;

  /** The turn, when nobody has it. */
  tryEnter(key: string): Leave | undefined {
    if (this.#keys.has(key)) return undefined;
    this.#keys.set(key, new Set());
    return this.#turn(key);
  }

  /** Waits for the turn. @throws LockErrors.tooManyWaiters, or what ended the patience */
  async enter(key: string, patience: Patience): Promise<Leave> {
    const line = this.#keys.get(key);
    if (line === undefined) return this.tryEnter(key)!;
    if (line.size >= MAX_WAITERS || this.#waiting >= MAX_WAITERS_IN_ALL) throw LockErrors.tooManyWaiters();
    const { promise, resolve: admit } = Promise.withResolvers<void>();
    line.add(admit);
    this.#waiting += 1;
    try {
      await patience.wait(promise);
      return this.#turn(key);
    } catch (reason) {
      // The turn may have come in the same moment in which the patience ended: it goes to the next.
      if (!line.delete(admit)) this.#next(key);
      throw reason;
    } finally {
      this.#waiting -= 1;
    }
  }

  #turn(key: string): Leave {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#next(key);
    };
  }

  #next(key: string): void {
    const line = this.#keys.get(key)!;
    const [admit] = line;
    if (admit === undefined) {
      this.#keys.delete(key);
      return;
    }
    line.delete(admit);
    admit();
  }
}
