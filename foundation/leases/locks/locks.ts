/**
 * Locks by key, over all replicas: one holder at a time, waiters served in order, and a lease that frees the lock of a
 * process that died. The forms (memory, database, Redis with the database behind it) keep the same promises; README.md
 * says how, and what a lock cannot promise.
 *
 * Keys are shared by all tenants: put the tenant's id into the key where the thing that is locked belongs to one.
 *
 * @example
 * await locks.withLock(`session:${tenantId}:${id}`, { wait: 5_000 }, async (lock) => {
 *   await save(changes, { fence: lock.fence, signal: lock.signal });
 * });
 */
export interface Locks {
  /**
   * Waits in line for the lock. Within a process the order is first come, first served; between processes it goes from
   * one to the next in the order in which they came to wait.
   *
   * @param key 1 to 200 printable characters
   * @throws LockErrors.timeout after `wait`
   * @throws LockErrors.unavailable when the store does not answer for 5 s, or the locks are closed
   * @throws LockErrors.tooManyWaiters when 10,000 wait for this key in this process
   * @throws LockErrors.invalid for a bad key or option
   * @throws the signal's reason when it aborts
   */
  acquire(key: string, options?: LockOptions): Promise<Lock>;
  /** The lock when it is free at once and nobody waits for it, else `undefined`. Throws like `acquire`. */
  tryAcquire(key: string, options?: Pick<LockOptions, 'lease'>): Promise<Lock | undefined>;
  /**
   * Takes the lock, runs `work` and gives the lock back, also when `work` throws. The result is that of `work`, even when
   * the lock was lost meanwhile: `work` heeds `lock.signal` where that matters.
   */
  withLock<T>(key: string, options: LockOptions, work: (lock: Lock) => Promise<T>): Promise<T>;
}

/** How a lock is asked for; everything has a default. */
export interface LockOptions {
  /**
   * Milliseconds after which others may take the lock of a process that died; 1,000 to 60,000, default 10,000. A living
   * holder's lease is renewed by itself at every third of it, for as long as the lock is held.
   */
  readonly lease?: number;
  /** Milliseconds for the whole of `acquire`; 1 to 3,600,000, default 30,000. Who cannot wait uses `tryAcquire`. */
  readonly wait?: number;
  /** Ends the waiting; without effect once the lock is taken. */
  readonly signal?: AbortSignal;
}

/** A lock that is held, until it is released or lost. */
export interface Lock extends AsyncDisposable {
  readonly key: string;
  /**
   * Grows with every holder of the key, over all forms and restarts. A process that was frozen does not know that its
   * lease has ended: what must be exact is written together with the fence, and refused when a larger one is there.
   */
  readonly fence: number;
  /** Aborts, with LockErrors.lost, shortly before others may take the lock because it could not be renewed in time. */
  readonly signal: AbortSignal;
  /**
   * Gives the lock back. Never throws: where the store cannot be told, the lease ends by itself. Again is without effect.
   */
  release(): Promise<void>;
}

/** Locks with the end of their life: waiters are refused, what is held is lost and given back, connections are closed. */
export interface OpenLocks extends Locks {
  /** Resolves within 10 s, whatever the store does. */
  close(): Promise<void>;
}
