import { DeadlineError } from '../../base/deadline.ts';
import type { Outage } from './outage.ts';
import type { PublishResult } from './queue.ts';

/** What a publisher waits for a server. */
const SEND_DEADLINE_MS = 950;
/** Messages of this replica that may be on their way. */
const MAX_SENDING = 1_000;

/** Sends one message. Never rejects; `away` when that fails or takes too long. */
export type Sending = (send: () => Promise<PublishResult>) => Promise<PublishResult>;

/**
 * Keeps publishers from waiting for a server, and what is under way from growing. A message counts as under way until the server has
 * answered or the connection is broken, not only until its publisher gives up.
 */
export function createSending(outage: Outage): Sending {
  let underWay = 0;
  return async (send) => {
    if (underWay >= MAX_SENDING) return 'full';
    underWay += 1;
    const work = send().finally(() => {
      underWay -= 1;
    });
    try {
      return await inTime(work);
    } catch (error) {
      outage.trouble(error);
      return 'away';
    }
  };
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const overdue = () =>
      reject(new DeadlineError(`publishing did not end within ${SEND_DEADLINE_MS / 1_000} s`));
    // After a pause of this very process timers fire before the sockets are read: look there before giving up.
    const timer = setTimeout(() => setImmediate(overdue), SEND_DEADLINE_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
