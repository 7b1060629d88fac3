import {
  backoffDelay,
  type Clock,
  type Database,
  isUniqueViolation,
  type Leases,
  orAborted,
  type TenantEntityManager,
  TransientMap,
  TransientSet,
} from 'agent-gateway';
import { maySee, type OwnerReader } from '../../../records/contract.ts';
import {
  batchAt,
  batchesAfter,
  type EventBatch,
  insertBatch,
  newestChat,
  type StoredEvent,
} from '../../store/chat-events.ts';
import { V3ChatErrors } from '../v3-chat/chat-record.ts';
import { errorEvent } from './stream-format.ts';

/** Batches that a reader fetches at one time. */
const PAGE = 20;
/** Milliseconds between two polls for events that another process writes: less often the longer nothing comes. */
const POLL_MS = { first: 100, most: 1_000 };
/** Milliseconds between two polls for events of this process, which notifies its readers as well. */
const POLL_HERE_MS = 5_000;
/** The number of consecutive polls without events after which a reader checks that some process still runs the chat. */
const ALIVE_EVERY = 5;

/** How far a client has read a chat: `seq` is the number of the last event that it has received. */
export interface LastSeen {
  readonly chatId: string;
  readonly seq: number;
}

/** A chat to be read, from the event after `seq` on. */
export interface ChatReading extends LastSeen {
  readonly sessionId: string;
}

/** An event of a chat and its number. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: StoredEvent;
}

/** The dependencies of readers. */
interface ReadersParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Pick<Leases, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Resolves when this process has run a chat to its end, and its session is free; undefined for a chat that it does
   * not run. It wakes the readers of those that it runs.
   */
  readonly runningHere: (chatId: string) => Promise<void> | undefined;
  /** The lease key under which the process that runs a chat holds it. */
  readonly leaseKey: (tenantId: string) => string;
}

/** Readers of chats in the background. They read from the table, so that a slow reader costs no memory. */
export function createChatReaders({ database, leases, clock, runningHere, leaseKey }: ReadersParts) {
  const listeners = new TransientMap<string, TransientSet<() => void>>();
  let isClosed = false;

  /** Subscribes to what this process writes to a chat from now on. */
  function listen(chatId: string): News & Disposable {
    let heard = Promise.withResolvers<void>();
    const hear = () => heard.resolve();
    const all = listeners.get(chatId) ?? new TransientSet();
    listeners.set(chatId, all.add(hear));
    return {
      clear() {
        heard = Promise.withResolvers<void>();
      },
      async wait(milliseconds, signal) {
        const timer = setTimeout(hear, milliseconds);
        try {
          await orAborted(heard.promise, signal);
        } finally {
          clearTimeout(timer);
        }
      },
      [Symbol.dispose]() {
        all.delete(hear);
        if (all.size === 0) listeners.delete(chatId);
      },
    };
  }

  /** Ends a chat whose process has died. */
  async function endIfLost(
    entities: TenantEntityManager,
    { seq, events, ...known }: EventBatch,
  ): Promise<void> {
    const { chatId } = known;
    if ((await leases.find(leaseKey(entities.tenantId), chatId)) !== undefined) return;
    if ((await batchAt(entities, chatId, 0)) === undefined)
      throw V3ChatErrors.notFound('The chat was deleted');
    const lost = errorEvent(V3ChatErrors.lost(), chatId);
    const last = {
      ...known,
      seq: seq + Math.max(events.length, 1),
      events: [{ ...lost, at: clock.now() }],
      createdAt: clock.now(),
    };
    try {
      await entities.writeTogether([insertBatch(last)]);
    } catch (error) {
      // The chat has continued: its next events are stored now.
      if (!isUniqueViolation(error)) throw error;
    }
  }

  return {
    /** Notifies the readers of a chat that something was written. */
    wake(chatId: string): void {
      for (const hear of listeners.get(chatId) ?? []) hear();
    },

    /**
     * Ends the readers of chats that this process does not run: they would delay its stop for the whole drain time, and
     * their clients go on on another replica, from the last event.
     */
    close(): void {
      isClosed = true;
      for (const chatId of listeners.keys()) this.wake(chatId);
    },

    /**
     * The chat that a client has begun to read, or the newest of the session. Throws `chat.not-found`,
     * `chat.forbidden`.
     */
    async find(
      entities: TenantEntityManager,
      reader: OwnerReader,
      { sessionId, lastSeen }: { readonly sessionId: string; readonly lastSeen: LastSeen | undefined },
    ): Promise<ChatReading> {
      const chatId = lastSeen?.chatId ?? (await newestChat(entities, sessionId));
      const first = chatId === undefined ? undefined : await batchAt(entities, chatId, 0);
      if (first?.sessionId !== sessionId) throw V3ChatErrors.notFound('No chat of this session can be read');
      if (!maySee(first, reader)) throw V3ChatErrors.forbidden();
      return { chatId: first.chatId, sessionId, seq: lastSeen?.seq ?? 0 };
    },

    /** False where the client has read all events, and the chat has ended. */
    async hasMore(entities: TenantEntityManager, { chatId, seq }: LastSeen): Promise<boolean> {
      const newest = await batchAt(entities, chatId, Number.MAX_SAFE_INTEGER);
      return newest === undefined || !isOver(newest) || seq < lastOf(newest);
    },

    /** All events after `seq`, in order, each once, until the last one was read, `close`, or the signal aborts. */
    async *follow(
      tenantId: string,
      { chatId, seq }: LastSeen,
      signal: AbortSignal,
    ): AsyncGenerator<NumberedEvent> {
      const entities = () => database.forTenant(tenantId);
      using news = listen(chatId);
      let known = await batchAt(entities(), chatId, seq + 1);
      let page: readonly EventBatch[] = known === undefined ? [] : [known];
      for (let looks = 0; known !== undefined; ) {
        for (const batch of page) {
          known = batch;
          for (const [index, event] of batch.events.entries()) {
            // A client that has read the end may send its next request at once.
            if (isEnd(event)) await orAborted(runningHere(chatId) ?? Promise.resolve(), signal);
            if (batch.seq + index > seq) yield { seq: batch.seq + index, event };
          }
        }
        if (isOver(known)) return;
        looks = page.length > 0 ? 0 : looks + 1;
        news.clear();
        page = await batchesAfter(entities(), chatId, known.seq, PAGE);
        if (page.length > 0) continue;
        const isHere = runningHere(chatId) !== undefined;
        if (!isHere && isClosed) return;
        if (!isHere && looks % ALIVE_EVERY === 0) await endIfLost(entities(), known);
        await news.wait(isHere ? POLL_HERE_MS : backoffDelay(looks + 1, POLL_MS), signal);
      }
    },
  };
}

/** The notifications of a reader. */
interface News {
  /** Discards earlier notifications. */
  clear(): void;
  /** Resolves when something was written since `clear`, or the time is over. Throws the signal's reason. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

function isOver({ events }: EventBatch): boolean {
  const last = events.at(-1);
  return last !== undefined && isEnd(last);
}

function isEnd({ type }: StoredEvent): boolean {
  return type === 'done' || type === 'error';
}

/** The number of the last event of a batch. */
function lastOf({ seq, events }: EventBatch): number {
  return seq + events.length - 1;
}
