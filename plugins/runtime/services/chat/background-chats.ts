import {
  type Clock,
  type Database,
  eraseExpired,
  GatewayError,
  type Ids,
  isUniqueViolation,
  KernelErrors,
  type Lease,
  type Leases,
  linkSignals,
  type RowWrite,
  type Scope,
  TransientMap,
} from 'agent-gateway';
import type { AgentTurn, ChatCall, TurnEnd } from '../../../agent-engine/contract.ts';
import { ownerOf, type Principal, SessionDataPoint } from '../../../records/contract.ts';
import type { RuntimeSettings } from '../../config.ts';
import { ChatEventsTable, deleteEventsIn, insertBatch } from '../../store/chat-events.ts';
import { createDetachedChats, drainChats } from '../detached-chats.ts';
import { identityNote } from '../end-with-credential.ts';
import { V3ChatErrors } from '../v3-chat/chat-record.ts';
import { a2uiEvents } from './a2ui-events.ts';
import { type ChatReading, createChatReaders } from './chat-readers.ts';
import { createEventLog, type EventLog, type NumberedEvents } from './event-log.ts';
import { errorEvent } from './stream-format.ts';

const EXPIRY_EVERY_MS = 10 * 60_000;
/** Concurrent background chats of a tenant at most; `max_sessions` allows far fewer. */
const MOST_CHATS = 10_000;

/** Makes more writes for the commit of a turn. */
export type AlsoWrite = (end: TurnEnd, sessionId: string | undefined) => Promise<readonly RowWrite[]>;

/** A chat that this process runs. */
interface RunningChat {
  readonly id: string;
  readonly turn: AgentTurn;
  readonly events: EventLog;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly store: (batch: NumberedEvents) => Promise<void>;
  readonly call: Pick<ChatCall, 'log' | 'requestId'>;
}

/** The dependencies of `createBackgroundChats`. */
interface BackgroundParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Chats that continue when their client disconnects, and can be read from any event on, on any replica. */
export type BackgroundChats = ReturnType<typeof createBackgroundChats>;

/** Opens the background chats of all tenants. When the plugin stops, chats in progress get time to end. */
export function openBackgroundChats(scope: Scope<RuntimeSettings>): BackgroundChats {
  const { services, config } = scope;
  const { database } = services;
  // By its times the newest chat of a session is found, whichever replica has run it.
  const { clock } = database;
  const chats = createBackgroundChats({ ...services, clock });
  drainChats(scope, 'chats in the background', chats.close);
  scope.every('chat-event-expiry', EXPIRY_EVERY_MS, (signal) => {
    const before = clock.now() - config.chat_event_retention;
    return eraseExpired(database, ChatEventsTable, { createdAt: { $lt: before } }, signal);
  });
  scope.contribute(SessionDataPoint, { remove: deleteEventsIn });
  return chats;
}

/** Makes the service. */
function createBackgroundChats(parts: BackgroundParts) {
  const { database, leases, clock, ids } = parts;
  const running = new TransientMap<string, Promise<void>>();
  const detached = createDetachedChats();
  const readers = createChatReaders({
    ...parts,
    runningHere: (id) => running.get(id),
    leaseKey: backgroundChatKey,
  });

  async function carryOut({ id, turn, events, signal, store, call }: RunningChat): Promise<void> {
    try {
      for await (const event of turn.events) {
        // The commit of the turn has written the end.
        if (event.type === 'end') return;
        for (const one of a2uiEvents(event)) await events.add(one);
      }
      throw signal.reason;
    } catch (thrown) {
      const error = thrown instanceof GatewayError ? thrown : KernelErrors.internal();
      call.log.warn({ err: thrown, chat_id: id }, 'a chat in the background failed');
      await events.written().catch(() => undefined);
      await store(events.rest([errorEvent(error, call.requestId)]));
    } finally {
      readers.wake(id);
    }
  }

  async function start(
    call: ChatCall,
    begin: (call: ChatCall, also: AlsoWrite) => Promise<AgentTurn>,
  ): Promise<ChatReading> {
    const { principal, log } = call;
    const id = ids.uuid();
    const entities = () => database.forTenant(principal.tenantId);
    const batch = (sessionId: string, numbered: NumberedEvents) =>
      insertBatch({ ...numbered, ...ownerOf(principal), chatId: id, sessionId, createdAt: clock.now() });

    await using opened = new AsyncDisposableStack();
    const lease = opened.use(await hold(leases, principal, id));
    const { signal } = opened.use(linkSignals(detached.signal, lease.signal));
    let session = '';
    const store = async (numbered: NumberedEvents) => {
      await entities().writeTogether([batch(session, numbered)]);
      readers.wake(id);
    };
    const events = createEventLog(store, clock);
    const turn = opened.use(
      await begin({ ...call, signal }, async (end, sessionId = '') => {
        await events.written();
        return [batch(sessionId, events.rest(a2uiEvents({ type: 'end', ...end })))];
      }),
    );
    session = turn.sessionId ?? '';
    await store({ seq: 0, events: [] });

    const held = opened.move();
    const done = carryOut({ id, turn, events, signal, store, call })
      .catch((err: unknown) => {
        // Another replica has recorded the chat as lost, or the end was committed after all: readers see that
        // instead.
        if (!isUniqueViolation(err)) log.error({ err, chat_id: id }, 'the end of a chat was not written');
      })
      .finally(() => held.disposeAsync())
      .finally(() => running.delete(id));
    running.set(id, detached.add(done));
    return { chatId: id, sessionId: session, seq: 0 };
  }

  return {
    /**
     * Begins a chat that continues without its client. It can be read when this resolves. Throws what `begin` throws,
     * and `chat.limit`.
     */
    start: (...asked: Parameters<typeof start>) => detached.add(start(...asked)),

    find: readers.find,
    follow: readers.follow,
    hasMore: readers.hasMore,

    /** Waits for the chats that this process runs; they fail when `signal` aborts. Ends the readers of others. */
    close(signal: AbortSignal): Promise<void> {
      readers.close();
      return detached.close(signal);
    },
  };
}

/** Acquires the lease of a chat: as long as it is held, some process runs the chat. */
async function hold(leases: Leases, { tenantId, identityId }: Principal, name: string): Promise<Lease> {
  const options = { name, limit: MOST_CHATS, note: identityNote(identityId) };
  const lease = await leases.tryAcquire(backgroundChatKey(tenantId), options);
  if (typeof lease !== 'string') return lease;
  throw V3ChatErrors.limit(undefined, { headers: { 'retry-after': '1' } });
}

/** The key of the leases of a tenant's chats in the background. */
export function backgroundChatKey(tenantId: string): string {
  return `runtime-background-chats:${tenantId}`;
}
