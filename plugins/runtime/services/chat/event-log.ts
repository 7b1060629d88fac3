import type { Clock } from 'agent-gateway';
import type { StoredEvent } from '../../store/chat-events.ts';
import type { A2uiEvent } from './a2ui-events.ts';

/** Events, and characters of their data, that may wait to be written before the chat waits for the database. */
const MOST_WAITING = 500;
const MOST_WAITING_SIZE = 256 * 1024;

/** Consecutive events of a chat, and the number of the first of them. */
export interface NumberedEvents {
  readonly seq: number;
  readonly events: readonly StoredEvent[];
}

/** The events of one chat, on their way to where they are kept. */
export type EventLog = ReturnType<typeof createEventLog>;

/**
 * Numbers the events of one chat, from 1, and writes them in batches: events that arrive during a write go into the
 * next one.
 *
 * @param write stores a batch; called for one batch at a time, and not again after it has thrown
 */
export function createEventLog(write: (batch: NumberedEvents) => Promise<void>, clock: Pick<Clock, 'now'>) {
  /** The number of the first event that is not known to be written. */
  let next = 1;
  /** All events from `next` on. */
  let waiting: StoredEvent[] = [];
  let size = 0;
  let writing: Promise<void> | undefined;
  let failure: { readonly reason: unknown } | undefined;

  const stored = ({ type, data }: A2uiEvent): StoredEvent => ({ type, at: clock.now(), data });

  async function writeAll(): Promise<void> {
    try {
      while (waiting.length > 0) {
        const events = [...waiting];
        const written = size;
        await write({ seq: next, events });
        size -= written;
        next += events.length;
        waiting = waiting.slice(events.length);
      }
    } catch (reason) {
      failure = { reason };
    } finally {
      writing = undefined;
    }
  }

  /** Resolves when all events are written. Throws what a write has thrown. */
  async function written(): Promise<void> {
    await writing;
    if (failure !== undefined) throw failure.reason;
  }

  return {
    /**
     * Adds an event. Where the result is a promise, the caller has to await it, since the database is slower than the
     * chat.
     */
    add(event: A2uiEvent): Promise<void> | undefined {
      if (failure !== undefined) return written();
      waiting.push(stored(event));
      size += JSON.stringify(event.data).length;
      writing ??= writeAll();
      return waiting.length >= MOST_WAITING || size >= MOST_WAITING_SIZE ? written() : undefined;
    },

    written,

    /** All events that were not written, followed by these, for the caller to write. */
    rest: (last: readonly A2uiEvent[]): NumberedEvents => ({
      seq: next,
      events: [...waiting, ...last.map(stored)],
    }),
  };
}
