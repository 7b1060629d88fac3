import type { PermitRequest } from './permit-request.ts';
import type { HeldPlace, PermitRefusal } from './permits.ts';

/**
 * Where places are kept with their leases: what a form of the permits is made of. Operations are atomic, answer within some
 * seconds or reject, and measure leases with the store's own clock.
 */
export interface PermitStore {
  /** False where holders live as long as the process: there is nothing to renew then. */
  readonly isLeased: boolean;
  /** Gives a place to the ticket when fewer than `limit` hold one under the key and none of its name. */
  take(place: TicketPlace): Promise<'granted' | PermitRefusal>;
  /**
   * Prolongs the lease to `lease` from now. `revoked`: prolonged as well, but the holder is asked to end. `gone`: the ticket does not
   * hold the place.
   */
  renew(place: TicketPlace): Promise<Renewal>;
  /** Gives up the place. What the ticket does not have is not touched. */
  release(place: Ticket): Promise<void>;
  /** Marks the place, so that the holder's next renewal tells him; the holder's ticket when there is one. */
  revoke(place: Place): Promise<string | undefined>;
  find(place: Place): Promise<HeldPlace | undefined>;
  /** Ends connections and timers. Places are given back before. */
  close(): Promise<void>;
}

/** How a renewal ended. */
export type Renewal = 'held' | 'revoked' | 'gone';

/** A place under a key. */
export type Place = Pick<PermitRequest, 'key' | 'name'>;

/** One taking of a place. */
export interface Ticket extends Place {
  /** A UUID of its own for each taking. */
  readonly ticket: string;
}

/** All that is known of a place that is taken. */
export type TicketPlace = PermitRequest & Ticket;
