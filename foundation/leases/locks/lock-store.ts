/**
 * Where locks are kept with their leases and lines. Operations are atomic, answer within some seconds or reject, and
 * measure leases with the store's own clock. A ticket is the name of one claim; it is used for one lock only.
 */
export interface LockStore {
  /**
   * Grants the lock to the ticket when nobody else holds it and no older ticket waits in line. A ticket that holds the lock
   * already gets it again, so that a lost answer does no harm.
   */
  take(request: TakeRequest): Promise<Grant | undefined>;
  /** Prolongs the lease to `lease` from now, and raises the key's fence to `fence`. False when the ticket does not hold the lock. */
  renew(request: TicketRequest & { readonly lease: number }): Promise<boolean>;
  /** Gives up the lock or the place in line, and wakes the next. What the ticket does not have is not touched. */
  release(request: TicketRequest): Promise<void>;
  /** See `Claims.onFree`. */
  onFree(listener: (key: string) => void): void;
  close(): Promise<void>;
}

export interface TicketRequest {
  readonly key: string;
  readonly ticket: string;
  /** The fence that the ticket has. */
  readonly fence: number;
}

export interface TakeRequest {
  readonly key: string;
  readonly ticket: string;
  /** Milliseconds. */
  readonly lease: number;
  /**
   * What the ticket does with the line: `wait` keeps a place in it for `PLACE_MS`, `look` only heeds it, `jump` goes past it
   * (for who holds the lock in another store already).
   */
  readonly line: 'wait' | 'look' | 'jump';
  /** The fence of the grant is greater than this one. */
  readonly above: number;
}

export interface Grant {
  readonly fence: number;
}

/** Milliseconds for which a place in line is kept without a further attempt: so long a dead process holds up the line. */
export const PLACE_MS = 3_000;

/** Milliseconds for which a store remembers a released lock, and with it its fence, though the clocks may go back. */
export const REMEMBERED_MS = 600_000;
