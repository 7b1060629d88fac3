import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Scope, TransientSet } from 'agent-gateway';
import { V3ChatErrors } from './v3-chat/chat-record.ts';

/** Milliseconds after the drain, in which others close as well. */
const LATE_MS = 3_000;

/**
 * Has a stop wait for chats: for the drain time, and then for those that calls in flight have begun since the last of
 * the others ended.
 *
 * @param close that of `createDetachedChats`
 */
export function drainChats(
  scope: Pick<Scope<unknown>, 'drain' | 'defer'>,
  name: string,
  close: (signal: AbortSignal) => Promise<void>,
): void {
  scope.drain(name, close);
  scope.defer(() => close(AbortSignal.timeout(LATE_MS)));
}

/**
 * Chats that go on without the request that began them, for which a stop waits. A chat is among them from its beginning
 * on: its session or its model may keep that waiting, and its client may be gone when it has begun.
 */
export function createDetachedChats() {
  const underWay = new TransientSet<Promise<unknown>>();
  const stop = new AbortController();
  return {
    /** Aborts when the gateway stops and the time for that is over. */
    signal: stop.signal,

    /** Adds the beginning of a chat, or the chat; returns the same promise. */
    add<T>(work: Promise<T>): Promise<T> {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },

    /** Waits for all of them, also for those that are added meanwhile; they fail when `signal` aborts. */
    async close(signal: AbortSignal): Promise<void> {
      const abort = () => stop.abort(V3ChatErrors.lost('The gateway was stopped'));
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      do {
        await Promise.allSettled(underWay);
        // Whoever has waited for the beginning of a chat adds the chat itself now.
        await nextTurn();
      } while (underWay.size > 0);
    },
  };
}
