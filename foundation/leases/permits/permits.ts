/**
 * Places under a key, over all replicas: at most so many holders at one time, each with a name. Nobody waits for a place; who
 * gets none is told why. The forms (memory, database, Redis with the database behind it) keep the same promises; README.md
 * says how, and what a permit cannot promise.
 *
 * Keys are shared by all tenants: put the tenant's id into the key where the bound is a tenant's.
 *
 * @example
 * const permit = await permits.tryAcquire(`sessions:${tenantId}`, { name: sessionId, limit: 10 });
 * if (permit === 'full' || permit === 'held') throw SessionErrors.limit();
 * await using held = permit;
 * await answer({ signal: held.signal });
 */
export interface Permits {
  /**
   * Takes a place when one is free now.
   *
   * @param key 1 to 200 printable characters
   * @throws PermitErrors.unavailable when no store answers, or the permits are closed
   * @throws PermitErrors.invalid for a bad key or option
   */
  tryAcquire(key: string, options: PermitOptions): Promise<Permit | PermitRefusal>;
  /** What the holder of this name wrote, or `undefined` when nobody holds a permit of this name. Throws like `tryAcquire`. */
  find(key: string, name: string): Promise<HeldPlace | undefined>;
  /**
   * Asks the holder of this name, wherever he is, to end: his `signal` aborts with PermitErrors.revoked. At once where events
   * reach his process, else with his next renewal, within a third of the lease. The place is free when he has released it.
   *
   * @returns true when it was held
   */
  revoke(key: string, name: string): Promise<boolean>;
}

/** Why there is no permit: all places are taken, or one of this very name is. */
export type PermitRefusal = 'full' | 'held';

/** How a permit is asked for. */
export interface PermitOptions {
  /** Who or what holds the place; once under its key. 1 to 200 printable characters. */
  readonly name: string;
  /** Most holders under the key; 0 to 1,000,000. All who ask for a key should say the same. */
  readonly limit: number;
  /**
   * Milliseconds after which the place of a process that died is free; 1,000 to 60,000, default 20,000. A living holder's lease is
   * renewed by itself at every third of it.
   */
  readonly lease?: number;
  /** Shown by `find` to all replicas, at most 200 printable characters, default empty. No secret. */
  readonly note?: string;
}

/** A place that somebody holds. */
export interface HeldPlace {
  readonly note: string;
}

/** A place that is held, until it is released or lost. */
export interface Permit extends AsyncDisposable {
  readonly key: string;
  readonly name: string;
  /**
   * Aborts with PermitErrors.revoked when somebody asked for the end (the place is still held then), and with PermitErrors.lost
   * shortly before others may take the place because it could not be renewed in time.
   */
  readonly signal: AbortSignal;
  /**
   * Gives the place back. Never throws: where the store cannot be told, the lease ends by itself. Again is without effect.
   */
  release(): Promise<void>;
}

/** Permits with the end of their life: what is held is lost and given back, connections are closed. */
export interface OpenPermits extends Permits {
  /** Resolves within 10 s, whatever the store does. */
  close(): Promise<void>;
}
