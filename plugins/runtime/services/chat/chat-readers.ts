import {
  backoffDelay,
  type Clock,
  type Database,
  isUniqueViolation,
  type Leases,
  orAborted,
  type TenantEntityManager,
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

/** Batches that a reader takes at one time. */
const PAGE = 20;
/** How often a reader looks for what another process writes, in milliseconds: the longer nothing comes the less often. */
const POLL_MS = { first: 100, most: 1_000 };
/** Of its own process a reader hears; it looks all the same. Milliseconds. */
const POLL_HERE_MS = 5_000;
/** How often a reader makes sure that somebody still carries the chat out, in looks that found nothing. */
const ALIVE_EVERY = 5;

/** Up to where a client has read a chat: `seq` is the number of the last event that it has. */
export interface LastSeen {
  readonly chatId: string;
  readonly seq: number;
}

/** A chat that is read, after an event. */
export interface ChatReading extends LastSeen {
  readonly sessionId: string;
}

/** An event of a chat and its number. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: StoredEvent;
}

/** What readers are made of. */
interface ReadersParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Pick<Leases, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether this process carries a chat out, and wakes its readers. */
  readonly isRunningHere: (chatId: string) => boolean;
  /** Under which a chat is held by whoever carries it out. */
  readonly leaseKey: (tenantId: string) => string;
}

/** Readers of chats in the background: from the table, so that a slow one costs no memory. */
export function createChatReaders({ database, leases, clock, isRunningHere, leaseKey }: ReadersParts) {
  const listeners = new Map<string, Set<() => void>>();

  /** Hears of what is written to a chat in this process, from now on. */
  function listen(chatId: string): News & Disposable {
    let heard = Promise.withResolvers<void>();
    const hear = () => heard.resolve();
    const all = listeners.get(chatId) ?? new Set();
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
      // It went on: what comes next is there now.
      if (!isUniqueViolation(error)) throw error;
    }
  }

  return {
    /** Something was written. */
    wake(chatId: string): void {
      for (const hear of listeners.get(chatId) ?? []) hear();
    },

    /** The chat that a client has begun to read, or the newest of the session. Throws `chat.not-found`, `chat.forbidden`. */
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

    /** False where the client has read all, and nothing will come. */
    async hasMore(entities: TenantEntityManager, { chatId, seq }: LastSeen): Promise<boolean> {
      const newest = await batchAt(entities, chatId, Number.MAX_SAFE_INTEGER);
      return newest === undefined || !isOver(newest) || seq < lastOf(newest);
    },

    /** All events after `seq`, in order, each once, until the last one was read or the signal aborts. */
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
            if (batch.seq + index > seq) yield { seq: batch.seq + index, event };
          }
        }
        if (isOver(known)) return;
        looks = page.length > 0 ? 0 : looks + 1;
        news.clear();
        page = await batchesAfter(entities(), chatId, known.seq, PAGE);
        if (page.length > 0) continue;
        const isHere = isRunningHere(chatId);
        if (!isHere && looks % ALIVE_EVERY === 0) await endIfLost(entities(), known);
        await news.wait(isHere ? POLL_HERE_MS : backoffDelay(looks + 1, POLL_MS), signal);
      }
    },
  };
}

/** What a reader hears of. */
interface News {
  /** What was heard so far is known. */
  clear(): void;
  /** Resolves when something was written since, or the time is over. Throws the signal's reason. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

function isOver({ events }: EventBatch): boolean {
  const type = events.at(-1)?.type;
  return type === 'done' || type === 'error';
}

/** The number of the last event of a batch. */
function lastOf({ seq, events }: EventBatch): number {
  return seq + events.length - 1;
}
