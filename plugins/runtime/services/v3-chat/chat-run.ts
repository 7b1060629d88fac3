import { type Clock, type Database, type Ids, type Lease, LeaseErrors } from 'agent-gateway';
import type { AgentTurn, AgentTurns, ChatCall, Interrupt } from '../../../agent-engine/contract.ts';
import { type ChatRow, findChat, moveChat } from '../../store/chats.ts';
import { type ChatMessageRecord, createChatMessages } from './chat-messages.ts';
import {
  addUsage,
  type ChatOutcome,
  type ChatResult,
  failureOf,
  toChat,
  toChatMessage,
} from './chat-record.ts';

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
  /** Whether the messages are listed afterwards. */
  readonly isKept: boolean;
  readonly begin: (call: ChatCall) => Promise<AgentTurn>;
}

/** The dependencies of `createChatRuns`. */
interface RunParts {
  readonly turns: Pick<AgentTurns, 'abort'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Makes the function that runs chats. */
export function createChatRuns({ turns, database, clock, ids }: RunParts) {
  /** Reads the turn to its end. */
  async function turned(
    { row, call, begin, isKept }: ChatWork,
    signal: AbortSignal,
    emit: Emit,
  ): Promise<
    ChatOutcome & {
      readonly messages: readonly ChatMessageRecord[];
      readonly interrupts?: readonly Interrupt[];
    }
  > {
    const said = createChatMessages({ clock, ids });
    const messages = isKept ? said.listed : [];
    await using turn = await begin({ ...call, signal });
    for await (const event of turn.events) {
      for (const { event: name, message } of said.events(event)) {
        await emit({ event: name, data: toChatMessage(row, message) });
      }
      if (event.type !== 'end') continue;
      const { usage, result } = event;
      const interrupts = result.checkpoint?.interrupts;
      return {
        status: interrupts ? 'requires_action' : 'completed',
        usage,
        messages,
        ...(interrupts && { interrupts }),
      };
    }
    throw signal.reason;
  }

  /** Writes how the chat ended, and reads it where another process has ended it before. */
  async function settle(
    { row, call: { principal, isAdmin } }: ChatWork,
    { status, usage, error }: ChatOutcome,
    messages: readonly ChatMessageRecord[],
  ): Promise<ChatRow> {
    const entities = database.forTenant(principal.tenantId);
    const before: ChatResult = JSON.parse(row.result);
    const change = {
      status,
      result: JSON.stringify({ usage: addUsage(before.usage, usage), error } satisfies ChatResult),
      messages: JSON.stringify([...JSON.parse(row.messages), ...messages]),
      completedAt: status === 'requires_action' ? null : new Date(clock.now()),
    };
    if (await moveChat(entities, { id: row.id, from: 'in_progress' }, change)) return { ...row, ...change };
    if (status === 'requires_action') {
      // The chat was canceled at the last moment: no pause may be left open.
      await turns.abort(
        entities,
        { ...principal, isAdmin },
        { sessionId: row.conversationId, agent: row.botId },
      );
    }
    return (await findChat(entities, row.id)) ?? { ...row, ...change, status: 'canceled' };
  }

  /**
   * Runs a chat, emits its events, and releases its lease. Rejects only where its end could not be written; then the chat counts as lost.
   *
   * @param signal ends the chat: it is canceled where the reason is that the client has disconnected, else it has failed
   */
  return async function carryOut(work: ChatWork, signal: AbortSignal, emit: Emit): Promise<void> {
    const { row, lease } = work;
    await using _ = lease;
    const whole = AbortSignal.any([signal, lease.signal]);
    let outcome: Awaited<ReturnType<typeof turned>>;
    try {
      await emit({ event: 'conversation.chat.created', data: { ...toChat(row), status: 'created' } });
      await emit({ event: 'conversation.chat.in_progress', data: toChat(row) });
      outcome = await turned(work, whole, emit);
    } catch (thrown) {
      const ended = whole.aborted ? endedBy(whole.reason) : failureOf(thrown);
      if (ended.status === 'failed') work.call.log.warn({ err: thrown, chatId: row.id }, 'a chat failed');
      outcome = { ...ended, messages: [] };
    }
    const settled = await settle(work, outcome, outcome.messages);
    if (signal.aborted) return;
    // A chat that was canceled has no event of its own in the SDK.
    const name = settled.status === 'canceled' ? 'failed' : settled.status;
    await emit({ event: `conversation.chat.${name}`, data: toChat(settled, outcome.interrupts) });
    await emit({ event: 'done' });
  };
}

function endedBy(reason: unknown): ChatOutcome {
  const { code, kind } = reason as { readonly code?: unknown; readonly kind?: unknown };
  const isAsked = code === LeaseErrors.revoked.definition.code || kind === 'client-closed';
  return isAsked ? { status: 'canceled' } : failureOf(reason);
}
