/** How one process gets a lock from a store; what a form of the locks is made of. */
export interface Claims {
  /** A claim to the lock of this key. Nothing is sent before its first attempt. */
  claim(key: string, lease: number): Claim;
  /** Calls the listener with a key that somebody waits for when its lock became free: a hint, it may be late or missing. */
  onFree(listener: (key: string) => void): void;
  /** Ends connections and timers. Claims are given back before. */
  close(): Promise<void>;
}

/** One caller's claim to a lock: not yet granted, held, or given up. */
export interface Claim {
  /** The fence of the grant; meaningless before. */
  readonly fence: number;
  /**
   * Asks for the lock once; resolves to true when it is granted, within some seconds, or rejects when the store is away.
   * An attempt whose answer was lost may be repeated: a claim gets the lock once.
   *
   * @param inLine keeps a place in the store's line when the lock is taken, for a few seconds: the next attempt is due
   * within half a second. Without it the lock is granted only when it is free and nobody waits.
   */
  attempt(inLine: boolean): Promise<boolean>;
  /** Prolongs the lease. Rejects when the store is away; whether the lock is still held is said by `heldUntil` alone. */
  renew(): Promise<void>;
  /** The time of the monotonic clock until which nobody else can get the lock; infinite where leases are not needed. */
  heldUntil(): number;
  /** Gives up the lock or the place in line. Rejects when the store cannot be told; the lease ends by itself then. */
  release(): Promise<void>;
}
