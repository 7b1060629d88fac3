import { orAborted } from '../base/deadline.ts';
import { TransientMap, TransientSet } from '../base/transient.ts';
import { LeaseErrors } from './lease-request.ts';

/** Ends a turn and lets the next one in; again is without effect. */
export type Leave = () => void;

/** Most that wait for one lease in a process. */
const MAX_WAITERS = 10_000;
/** Most that wait in a process, for all leases. */
const MAX_WAITERS_IN_ALL = 100_000;

/**
 * The line of this process in front of the store: one for each lease, first come, first served. Only the one whose turn
 * it is asks the store, so that a process has one waiter for a lease there, however many it has itself.
 */
export function createWaitingLine() {
  /** A lease is here while a caller has the turn; the set has the callers that wait, in their order. */
  const leases = new TransientMap<string, TransientSet<() => void>>();
  let waiting = 0;

  /** The turn, when it is free. */
  function tryEnter(lease: string): Leave | undefined {
    if (leases.has(lease)) return undefined;
    leases.set(lease, new TransientSet());
    return turn(lease);
  }

  function turn(lease: string): Leave {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      next(lease);
    };
  }

  function next(lease: string): void {
    const line = leases.get(lease)!;
    const [admit] = line;
    if (admit === undefined) {
      leases.delete(lease);
      return;
    }
    line.delete(admit);
    admit();
  }

  return {
    tryEnter,

    /** Waits for the turn. @throws LeaseErrors.tooManyWaiters, or the signal's reason when that ends the wait */
    async enter(lease: string, signal: AbortSignal): Promise<Leave> {
      const line = leases.get(lease);
      if (line === undefined) return tryEnter(lease)!;
      if (line.size >= MAX_WAITERS || waiting >= MAX_WAITERS_IN_ALL) throw LeaseErrors.tooManyWaiters();
      const { promise, resolve: admit } = Promise.withResolvers<void>();
      line.add(admit);
      waiting += 1;
      try {
        await orAborted(promise, signal);
        return turn(lease);
      } catch (reason) {
        // The turn may have come in the same moment in which the wait ended: it goes to the next.
        if (!line.delete(admit)) next(lease);
        throw reason;
      } finally {
        waiting -= 1;
      }
    },
  };
}
