import { endsWithin } from './deadline.ts';
import { TransientSet } from './transient.ts';

/** A call that can be aborted. */
export interface AbortableCall {
  /** Of its route or method. */
  readonly pattern: string;
  abort(reason: Error): void;
  /** Answers the caller in the place of code that does not end. Absent where `abort` does so. */
  giveUp?(): void;
}

/**
 * The calls that one generation of a plugin is serving. A call enters in the same turn in which its route was found, so
 * a stopping plugin never loses one between the two.
 */
export class InFlight {
  readonly #calls = new TransientSet<AbortableCall>();
  #idle: (() => void)[] = [];

  /** Calls that have entered until now, and all other work that is counted. */
  count = 0;

  get size(): number {
    return this.#calls.size;
  }

  /** Of the calls that are under way, each once. */
  get patterns(): readonly string[] {
    return [...new Set([...this.#calls].map(({ pattern }) => pattern))];
  }

  enter(call: AbortableCall): void {
    this.#calls.add(call);
    this.count += 1;
  }

  leave(call: AbortableCall): void {
    this.#calls.delete(call);
    if (this.#calls.size > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when no call is left; true, or false when `milliseconds` were over first. */
  async idle(milliseconds: number): Promise<boolean> {
    if (this.#calls.size === 0) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    return endsWithin(milliseconds, promise);
  }

  /** Aborts every call. */
  abortAll(reason: Error): void {
    for (const call of this.#calls) call.abort(reason);
  }

  /** Gives every call up, and names their patterns, each once. */
  giveUpAll(): readonly string[] {
    for (const call of this.#calls) call.giveUp?.();
    return this.patterns;
  }
}
