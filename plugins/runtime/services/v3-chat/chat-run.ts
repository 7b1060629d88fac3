import { type Clock, type Database, GatewayError, type Ids, type Lease, linkSignals } from 'agent-gateway';
import type {
  AgentTurn,
  AgentTurnRequest,
  ChatCall,
  Interrupt,
  TurnEnd,
} from '../../../agent-engine/contract.ts';
import { type ChatChange, type ChatRow, chatMove, findChat } from '../../store/chats.ts';
import type { ChatEnds } from './chat-ends.ts';
import { type ChatMessageEvent, createChatMessages } from './chat-messages.ts';
import { endedChat, isCancellation, recordedEnd, toChat, toChatMessage } from './chat-record.ts';

/** One event of a chat (the SDK's `ChatEventType`); the end has no data. */
export interface ChatEvent {
  readonly event: string;
  readonly data?: object;
}

/** Sends an event to the reader of the chat. Throws when the reader has disconnected. */
export type Emit = (event: ChatEvent) => Promise<void> | undefined;

/** A chat that this process runs while it holds the lease. */
export interface ChatWork {
  readonly row: ChatRow;
  readonly call: ChatCall;
  readonly lease: Lease;
  /** Whether the turn is stored, and its messages are listed afterwards. */
  readonly isKept: boolean;
  /** `also` writes the end of the chat in the commit of the turn. */
  readonly begin: (call: ChatCall, also: NonNullable<AgentTurnRequest['also']>) => Promise<AgentTurn>;
}

/** The dependencies of `createChatRuns`. */
interface RunParts {
  readonly ends: ChatEnds;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A chat whose turn is over, and what its row has to become. */
interface Ended {
  readonly row: ChatRow;
  readonly change: ChatChange;
  readonly interrupts?: readonly Interrupt[] | undefined;
}

/** Makes the function that runs chats. */
export function createChatRuns({ ends, database, clock, ids }: RunParts) {
  /** Reads the turn to its end. */
  async function turned(work: ChatWork, signal: AbortSignal, emit: Emit): Promise<Ended> {
    const { row, call, begin, isKept } = work;
    const said = createChatMessages({ clock, ids });
    const written = (end: TurnEnd, from = row) => endedChat(from, end, isKept ? said.listed : []);
    const ended = (end: TurnEnd): Ended => {
      const stored = { ...row, ...written(end) };
      const change = recordedEnd(stored, clock.now())!;
      // Nothing of a turn that is not kept is committed, so that its row is still as it was.
      const both = isKept ? { row: stored, change } : { row, change: { ...written(end), ...change } };
      return { ...both, interrupts: end.result.checkpoint?.interrupts };
    };
    const send = async (events: readonly ChatMessageEvent[]) => {
      for (const { event, message } of events) await emit({ event, data: toChatMessage(row, message) });
    };
    let last: readonly ChatMessageEvent[] = [];
    await using turn = await begin({ ...call, signal }, async (end) => {
      last = said.events({ type: 'end', ...end });
      // A message that it had may have been deleted after it was read and before its turn held the session.
      const entities = database.forTenant(call.principal.tenantId);
      const stored = row.messages === '[]' ? row : await findChat(entities, row.id);
      return [chatMove(row, written(end, stored))];
    });
    for await (const event of turn.events) {
      if (event.type !== 'end') {
        await send(said.events(event));
        continue;
      }
      const outcome = ended(event);
      // The turn is stored: it counts, although its client may have disconnected.
      await send([...last, ...said.events(event)]).catch(() => undefined);
      return outcome;
    }
    throw signal.reason;
  }

  /** Runs the turn; never rejects for what breaks it. */
  async function ran(work: ChatWork, signal: AbortSignal, emit: Emit): Promise<Ended> {
    const { row, call } = work;
    try {
      await emit({ event: 'conversation.chat.created', data: { ...toChat(row), status: 'created' } });
      await emit({ event: 'conversation.chat.in_progress', data: toChat(row) });
      return await turned(work, signal, emit);
    } catch (thrown) {
      const reason = signal.aborted ? signal.reason : thrown;
      if (!isCancellation(reason) && !isCallers(reason))
        call.log.warn({ err: thrown, chat_id: row.id }, 'a chat failed');
      const entities = database.forTenant(call.principal.tenantId);
      return { row, change: await ends.broken(entities, row, reason) };
    }
  }

  /** Runs a chat and writes how it ended. Its session and its lease are free when this resolves. */
  async function settled(work: ChatWork, signal: AbortSignal, emit: Emit) {
    await using _ = work.lease;
    const { row, change, interrupts } = await ran(work, signal, emit);
    const entities = database.forTenant(work.call.principal.tenantId);
    const now = await ends.settle(entities, row, change);
    if (now.status !== 'requires_action' || interrupts !== undefined) return toChat(now, interrupts);
    return toChat(now, (await ends.pauseOf(entities, now))?.interrupts);
  }

  /**
   * Runs a chat, emits its events, and releases its lease. Rejects only where its end could not be written; then the
   * chat counts as lost.
   *
   * @param signal ends the chat: it is canceled where the reason is that the client has disconnected, else it has
   * failed. A chat that was continued waits again in both cases
   */
  return async function carryOut(work: ChatWork, signal: AbortSignal, emit: Emit): Promise<void> {
    using alive = linkSignals(signal, work.lease.signal);
    const chat = await settled(work, alive.signal, emit);
    // A client that closes its stream after the last event may send the next request at once: the lease is released by
    // now.
    if (signal.aborted) return;
    // A chat that was canceled has no event of its own in the SDK.
    const name = chat.status === 'canceled' ? 'failed' : chat.status;
    await emit({ event: `conversation.chat.${name}`, data: chat });
    await emit({ event: 'done' });
  };
}

/** The session is busy, or waits for decisions: that is a caller's mistake, and no failure for the log. */
function isCallers(reason: unknown): boolean {
  return reason instanceof GatewayError && reason.kind === 'conflict';
}
