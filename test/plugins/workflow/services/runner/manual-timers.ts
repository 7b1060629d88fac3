import { setImmediate } from 'node:timers/promises';
import type { Timers } from '../../../../../plugins/workflow/services/ports/runtime.ts';

/** Time that moves when the test says so, for any number of processes. */
export class ManualTime {
  #now = 0;
  #order = 0;
  readonly #timers = new Map<number, { readonly at: number; readonly call: () => void }>();

  get now(): number {
    return this.#now;
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** The timers of one process; none is called while it is dead. */
  timers(isDead: () => boolean = () => false): Timers {
    return {
      monotonic: () => this.#now,
      after: (ms, call) => {
        const id = this.#order++;
        this.#timers.set(id, { at: this.#now + ms, call: () => void (isDead() || call()) });
        return () => void this.#timers.delete(id);
      },
    };
  }

  /** Moves the time; after each timer everything that it set off comes to rest. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(([, { at }]) => at <= end);
      due.sort(([idA, a], [idB, b]) => a.at - b.at || idA - idB);
      const [next] = due;
      if (next === undefined) break;
      const [id, { at, call }] = next;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, at);
      call();
    }
    this.#now = end;
  }
}

/**
 * Resolves when no promise is left to be carried on: the event loop has turned, and everything here waits for the test.
 */
export async function settle(): Promise<void> {
  await setImmediate();
}
