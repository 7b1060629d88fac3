import { endsWithin } from '../../base/deadline.ts';
import type { Hands, Reception } from './create-hints.ts';

/** A message that was taken out of the table. */
export interface TakenMessage {
  readonly id: string;
  readonly payload: string;
}

/** What a consumer asks of the table. */
export interface MessageSource {
  take(count: number): Promise<readonly TakenMessage[]>;
  /** Milliseconds until the next message is due; `undefined` when none waits. */
  nextDue(): Promise<number | undefined>;
  putBack(messages: readonly TakenMessage[]): Promise<void>;
  /** Whether wake-ups come. */
  isListening(): boolean;
  failed(reason: unknown): void;
}

/** A reception that can be woken. */
export interface WakeableReception extends Reception {
  wake(): void;
}

/** Messages that one statement takes at most. */
const MAX_BATCH = 100;
/** How often an idle consumer looks without a wake-up: every so often one is lost. */
const POLL_MS = 5_000;
/** The same while no wake-ups come, and after a failure. */
const POLL_ALONE_MS = 1_000;
/** Due messages that could not be taken are in the hands of another consumer's statement, which ends soon. */
const CONTENDED_MS = 100;
const END_MS = 1_500;

/**
 * Takes messages out of the table while there are free hands. It looks when it is woken, when the next delayed one
 * is due, when a place is free after the last look left some behind, and from time to time.
 */
export function receiveFromPostgres(source: MessageSource, hands: Hands): WakeableReception {
  let isStopped = false;
  let looking: Promise<void> | undefined;
  /** It was woken while it was looking. */
  let mustLookAgain = false;
  /** The last look left messages behind, as far as it could see. */
  let hasMore = false;
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    if (isStopped) return;
    if (looking !== undefined) {
      mustLookAgain = true;
      return;
    }
    clearTimeout(timer);
    mustLookAgain = false;
    looking = look().then((wait) => {
      looking = undefined;
      if (isStopped) return;
      if (mustLookAgain || wait === 0) wake();
      else timer = setTimeout(wake, wait);
    });
  }

  /** Milliseconds until the next look. */
  async function look(): Promise<number> {
    const count = Math.min(hands.concurrency - hands.size, MAX_BATCH);
    // A place that becomes free wakes it.
    hasMore = count <= 0;
    if (hasMore) return POLL_MS;
    try {
      const taken = await source.take(count);
      if (isStopped) {
        await source.putBack(taken);
        return 0;
      }
      for (const { id, payload } of taken) void hands.start(id, payload).then(placeIsFree);
      hasMore = taken.length === count;
      if (hasMore) return hands.size < hands.concurrency ? 0 : POLL_MS;
      const due = await source.nextDue();
      const poll = source.isListening() ? POLL_MS : POLL_ALONE_MS;
      return due === undefined ? poll : Math.min(Math.max(Math.ceil(due), CONTENDED_MS), poll);
    } catch (error) {
      source.failed(error);
      return POLL_ALONE_MS;
    }
  }

  function placeIsFree(): void {
    if (hasMore) wake();
  }

  wake();
  return {
    wake,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
    async end() {
      if (looking !== undefined) await endsWithin(END_MS, looking);
    },
  };
}
