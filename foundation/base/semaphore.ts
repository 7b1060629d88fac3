import { TransientMap, TransientSet } from './transient.ts';

/** How long a task may wait for its turn. */
export interface TurnOptions {
  /** Milliseconds; without it a task waits for as long as it takes. */
  readonly timeoutMs?: number;
  /** The error for a task that has waited that long. Default: an Error that says so. */
  readonly expired?: () => Error;
}

/** Ends a turn. A second call does nothing. */
export type Release = () => void;

/** Lets a number of tasks run at one time; the others wait in order of arrival. */
export class Semaphore {
  #free: number;
  readonly #options: TurnOptions;
  readonly #line = new TransientSet<(release: Release) => void>();

  constructor(places: number, options: TurnOptions = {}) {
    this.#free = places;
    this.#options = options;
  }

  /** Whether a turn would come at once. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /** Tasks whose turn has not come. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Resolves when it is the caller's turn, with the function that ends the turn. Rejects when that takes longer than
   * the options allow.
   */
  acquire(): Promise<Release> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(this.#turn());
    }
    return new Promise((resolve, reject) => {
      const { timeoutMs, expired } = this.#options;
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              this.#line.delete(admit);
              reject(expired?.() ?? new Error(`No turn within ${timeoutMs / 1000} s`));
            }, timeoutMs);
      const admit = (release: Release) => {
        clearTimeout(timer);
        resolve(release);
      };
      this.#line.add(admit);
    });
  }

  /** Runs `task` in a turn of its own. */
  async run<T>(task: () => T | Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await task();
    } finally {
      release();
    }
  }

  #turn(): Release {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const [next] = this.#line;
      if (next === undefined) {
        this.#free += 1;
      } else {
        this.#line.delete(next);
        next(this.#turn());
      }
    };
  }
}

/** Lets one task run at a time, in order of arrival. */
export class Mutex extends Semaphore {
  constructor(options: TurnOptions = {}) {
    super(1, options);
  }
}

/** A mutex for each key. Keys do not wait for each other, and one that is free takes no memory. */
export class KeyedMutex {
  readonly #last = new TransientMap<string, Promise<unknown>>();

  /** Runs `task` when everything before it on the same key is done, also when that failed. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(task, task);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}

/**
 * Handles items, `width` at a time, in their order. Begins no further one when the signal has aborted or one has
 * failed, and rejects with that failure at once, while those under way go on.
 */
export async function forEachLimited<T>(
  items: Iterable<T>,
  width: number,
  handle: (item: T) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const lane = async () => {
    while (!hasFailed && signal?.aborted !== true) {
      const next = rest.next();
      if (next.done === true) return;
      try {
        await handle(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** What `work` makes of each item, in the order of the items; `width` at a time. */
export async function mapLimited<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  await forEachLimited(items.entries(), width, async ([index, item]) => {
    results[index] = await work(item);
  });
  return results;
}
