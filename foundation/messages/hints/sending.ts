import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import type { SendResult } from './hints.ts';

/** What a publisher waits for a server. */
const SEND_DEADLINE_MS = 950;
/** Messages of this replica that may be on their way. */
const MAX_SENDING = 1_000;

/**
 * Keeps publishers from waiting for a server, and what is under way from growing. A message counts as under way until
 * the server has answered or the connection is broken, not only until its publisher gives up. The returned function
 * sends one message and never rejects: it answers `away` when that fails or takes too long.
 */
export function createSending(trouble: (reason: unknown) => void) {
  let underWay = 0;
  return async (send: () => Promise<SendResult>): Promise<SendResult> => {
    if (underWay >= MAX_SENDING) return 'full';
    underWay += 1;
    const work = send().finally(() => {
      underWay -= 1;
    });
    try {
      return await within(SEND_DEADLINE_MS, 'publishing', work);
    } catch (error) {
      trouble(error);
      return 'away';
    }
  };
}

/** Messages of one queue that may wait outside of this process. */
export const MAX_WAITING = 10_000;
const COUNT_EVERY_MS = 1_000;
/** Messages that may be sent without counting again. */
const MAX_UNCOUNTED = 1_000;

/**
 * Whether a queue that several replicas fill has room. Counting at each message would cost more than the message, so
 * the count is at most a second old, or a thousand messages of this replica: with `n` replicas a queue may come to hold
 * `n` thousand messages more than its bound.
 *
 * @param count the messages of the queue that wait, delayed ones included; may answer less exactly above the bound
 */
export function createRoom(clock: Clock, count: () => Promise<number>) {
  let known = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  let uncounted = 0;
  let counting: Promise<void> | undefined;

  async function recount(): Promise<void> {
    const before = uncounted;
    known = await count();
    uncounted -= before;
    countedAt = clock.monotonic();
  }

  return {
    /** Rejects when counting fails. */
    async has(): Promise<boolean> {
      const isOld = clock.monotonic() - countedAt >= COUNT_EVERY_MS;
      if (isOld || uncounted >= MAX_UNCOUNTED) {
        counting ??= recount().finally(() => {
          counting = undefined;
        });
        await counting;
      }
      return known + uncounted < MAX_WAITING;
    },

    /** One more was sent. */
    sent(): void {
      uncounted += 1;
    },
  };
}
