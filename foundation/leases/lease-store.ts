import type { LeasePlace, LeaseRequest } from './lease-request.ts';
import type { HeldName, HeldPlace, LeaseRefusal } from './leases.ts';

/**
 * Where leases are kept with their lines. Operations are atomic, answer within some seconds or reject, and measure time
 * with the store's own clock.
 */
export interface LeaseStore {
  /** False where holders live as long as the process: there is nothing to renew then. */
  readonly isLeased: boolean;
  /**
   * Grants the lease when no other ticket holds the name, no older ticket waits for it and fewer than `limit` are held
   * under the key. A ticket that holds it already gets it again, so that a lost answer does no harm.
   *
   * @param inLine keep a place in line for `PLACE_MS` where the name is held
   */
  take(ticket: LeaseTicket, inLine: boolean): Promise<'granted' | LeaseRefusal>;
  /** Grants the lease or not, at once, with nothing kept of a refusal. Only where the store is in this process. */
  takeNow?(ticket: LeaseTicket): 'granted' | LeaseRefusal;
  /**
   * Prolongs the lease to `ttl` from now. `revoked`: prolonged as well, but the holder is asked to end. `gone`: the
   * ticket does not hold it.
   */
  renew(ticket: LeaseTicket): Promise<Renewal>;
  /**
   * Gives up the lease or the place in line; what the ticket does not have is not touched. True when others wait for
   * the name.
   */
  release(ticket: LeaseTicket): Promise<boolean>;
  /** Marks the lease, so that its next renewal answers `revoked`; the holder's ticket when there is one. */
  revoke(place: LeasePlace): Promise<string | undefined>;
  find(place: LeasePlace): Promise<HeldPlace | undefined>;
  /** What is held under a key. */
  list(key: string): Promise<readonly HeldName[]>;
  /**
   * Calls the listener when all leases should be renewed at once, because the other replicas begin to use another
   * store; the result ends that.
   */
  onHandover?(listener: () => void): () => void;
}

/** How a renewal ended. */
export type Renewal = 'held' | 'revoked' | 'gone';

/** One request for a lease. */
export interface LeaseTicket extends LeasePlace, Pick<LeaseRequest, 'limit' | 'ttl' | 'note'> {
  /** A UUID of its own for each request. */
  readonly id: string;
}

/**
 * Milliseconds for which a place in line is kept without a further question: so long a dead process holds up the line.
 */
export const PLACE_MS = 3_000;
