/**
 * Leases under a key, over all replicas: at most so many holders at one time, each under a name of its own, and each
 * for as long as its process lives and renews it. With the defaults a lease is a lock: one holder under its key, and
 * the others wait in line. With a `limit` and names it bounds how much of something goes on, and a holder can be found
 * by its name and asked to end.
 *
 * The stores (memory, a table, Redis with the table behind it) keep the same promises; README.md says how, and what a
 * lease cannot promise. Keys are shared by all tenants: put the tenant's id into the key where the thing belongs to
 * one.
 *
 * @example
 * await leases.withLease(`import:${tenantId}`, { wait: 5_000 }, async ({ signal }) => importAll({ signal }));
 *
 * @example
 * const lease = await leases.tryAcquire(`exports:${tenantId}`, { name: exportId, limit: 10 });
 * if (lease === 'full' || lease === 'held') throw ExportErrors.limit();
 * await using held = lease;
 * await run({ signal: held.signal });
 */
export interface Leases {
  /**
   * Waits until this name is free under the key. Within a process the order is first come, first served; between
   * processes it goes from one to the next in the order in which they came to wait.
   *
   * @param key 1 to 200 printable characters
   * @throws LeaseErrors.full when its turn has come and `limit` others hold a lease under the key: that is not waited
   * for
   * @throws LeaseErrors.timeout after `wait`
   * @throws LeaseErrors.unavailable when no store answers for 5 s, or the leases are closed
   * @throws LeaseErrors.tooManyWaiters when 10,000 wait for this name in this process
   * @throws LeaseErrors.invalid for a bad key or option
   * @throws the signal's reason when it aborts
   */
  acquire(key: string, options?: LeaseWaitOptions): Promise<Lease>;
  /**
   * The lease when it is free at once and no other caller waits for it, else why not. Throws LeaseErrors.unavailable
   * and .invalid.
   */
  tryAcquire(key: string, options?: LeaseOptions): Promise<Lease | LeaseRefusal>;
  /**
   * Acquires the lease, runs `work` and releases it, also when `work` throws. The result is that of `work`, even when
   * the lease was lost meanwhile: `work` heeds `signal` where that matters.
   */
  withLease<T>(key: string, options: LeaseWaitOptions, work: (lease: Lease) => Promise<T>): Promise<T>;
  /**
   * What the holder of this name noted, or `undefined` when it is free. Throws LeaseErrors.unavailable and .invalid.
   */
  find(key: string, name?: string): Promise<HeldPlace | undefined>;
  /**
   * All leases that are held under the key at this moment, in no order. Throws LeaseErrors.unavailable and .invalid.
   */
  list(key: string): Promise<readonly HeldName[]>;
  /**
   * Asks the holder of this name, in any replica, to end: its `signal` aborts with LeaseErrors.revoked. At once where
   * events reach its process, else with its next renewal, within a third of the lease's time. The name is free when the
   * holder has released it.
   *
   * @returns true when it was held
   */
  revoke(key: string, name?: string): Promise<boolean>;
}

/**
 * Why there is no lease: `limit` others have one under the key, or another caller has (or waits for) this very name.
 */
export type LeaseRefusal = 'full' | 'held';

/** How a lease is asked for; everything has a default. */
export interface LeaseOptions {
  /** What holds it, held once under its key; 1 to 200 printable characters. Default: the key's only name. */
  readonly name?: string;
  /**
   * Most holders under the key, 0 to 1,000,000, default 1; more than 1 needs names. All callers of a key should give
   * the same.
   */
  readonly limit?: number;
  /**
   * Milliseconds after which the lease of a process that died is free; 1,000 to 60,000, default 20,000. A living
   * holder's is renewed automatically at every third of it, for as long as it is held.
   */
  readonly ttl?: number;
  /** Shown by `find` to all replicas, at most 200 printable characters, default empty. No secret. */
  readonly note?: string;
  /**
   * True: there is one holder whatever the replicas can reach. The database grants it, also where Redis is, and not at
   * all without the database; it costs some statements. All callers of a key give the same. Default false: while
   * replicas disagree whether Redis is there, two may hold a name, which is right wherever the database decides in the
   * end (a compare-and-set, an `ifMatch`).
   */
  readonly strict?: boolean;
}

/** How a lease is waited for. */
export interface LeaseWaitOptions extends LeaseOptions {
  /** Milliseconds for the whole of `acquire`; 1 to 3,600,000, default 30,000. */
  readonly wait?: number;
  /** Ends the waiting; without effect once the lease is granted. */
  readonly signal?: AbortSignal;
}

/** What others see of a lease that is held. */
export interface HeldPlace {
  readonly note: string;
}

/** The same with its name, which is empty where none was given. */
export interface HeldName extends HeldPlace {
  readonly name: string;
}

/** A lease that is held, until it is released or lost. */
export interface Lease extends AsyncDisposable {
  readonly key: string;
  /** Empty where none was given. */
  readonly name: string;
  /**
   * Aborts with LeaseErrors.revoked when a caller asked for the end (the lease is still held then), and with
   * LeaseErrors.lost shortly before others may have the lease because it could not be renewed in time. A process that
   * was frozen learns of it when it wakes: what must be exact beyond that is compared and set in the database.
   */
  readonly signal: AbortSignal;
  /** Gives the lease back. Never throws: where no store answers, the lease expires. Again is without effect. */
  release(): Promise<void>;
}

/** Leases with the end of their life: waiters are refused, what is held is lost and given back. */
export interface OpenLeases extends Leases {
  /** Resolves within 6 s, whatever the stores do. */
  close(): Promise<void>;
}
