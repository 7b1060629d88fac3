import { cozeCode, defineErrors, GatewayError, KernelErrors, LeaseErrors } from 'agent-gateway';
import { type Interrupt, type TurnEnd, TurnErrors } from '../../../agent-engine/contract.ts';
import { SessionErrors, type Usage } from '../../../records/contract.ts';
import type { ChatChange, ChatRow, StoredStatus } from '../../store/chats.ts';
import type { ChatMessageRecord } from './chat-messages.ts';
import { toToolCall } from './tool-outputs.ts';

/** The errors of chats of the v3 API, in addition to those of turns and conversations. */
export const V3ChatErrors = defineErrors({
  notFound: { code: 'chat.not-found', kind: 'not-found', title: 'There is no such chat' },
  forbidden: { code: 'chat.forbidden', kind: 'forbidden', title: 'The chat belongs to another user' },
  finished: { code: 'chat.finished', kind: 'conflict', title: 'The chat has ended' },
  notInterrupted: TurnErrors.notInterrupted.definition,
  limit: { code: 'chat.limit', kind: 'rate-limited', title: 'Too many chats are in flight' },
  lost: { code: 'chat.lost', kind: 'unavailable', title: 'The process that carried the chat out has ended' },
});

/** The result of a chat, as its row stores it. */
export interface ChatResult {
  readonly usage?: Pick<Usage, 'prompt_tokens' | 'completion_tokens'> | undefined;
  readonly error?: { readonly code: number; readonly msg: string } | undefined;
  /** Id of the checkpoint at which the chat waits, or from which it was continued. */
  readonly pause?: string | undefined;
  /**
   * How often it was continued: the results of two continuations differ, so that the end of one is never written as the
   * end of the other.
   */
  readonly continued?: number | undefined;
  /** The status that it gets once its session and its lease are free: the turn is stored. */
  readonly end?: 'completed' | 'requires_action' | undefined;
}

/** The result in a row. Pure. */
export const resultOf = ({ result }: Pick<ChatRow, 'result'>): ChatResult => JSON.parse(result);

/** A chat as the SDK knows it (`CreateChatData`). Times are seconds since the epoch. Pure. */
export function toChat(row: ChatRow, interrupts: readonly Interrupt[] = []) {
  const { id, conversationId, botId, status, createdAt, completedAt } = row;
  const { usage, error } = resultOf(row);
  const ended = completedAt && seconds(completedAt.getTime());
  const toolCalls = status === 'requires_action' ? interrupts.map(toToolCall) : [];
  return {
    id,
    conversation_id: conversationId,
    bot_id: botId,
    status: status as StoredStatus | 'created',
    created_at: seconds(createdAt.getTime()),
    ...(ended && (status === 'failed' ? { completed_at: ended, failed_at: ended } : { completed_at: ended })),
    meta_data: JSON.parse(row.metaData) as Record<string, string>,
    ...(error && { last_error: error }),
    usage: usage === undefined ? NO_USAGE : toUsage(usage),
    ...(toolCalls.length > 0 && {
      required_action: { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls: toolCalls } },
    }),
  };
}

/** A message as the SDK knows it (`ChatV3Message`). Pure. */
export function toChatMessage(
  { id: chatId, conversationId, botId }: Pick<ChatRow, 'id' | 'conversationId' | 'botId'>,
  { id, type, content, reasoning, createdAt }: ChatMessageRecord,
) {
  return {
    id,
    conversation_id: conversationId,
    bot_id: botId,
    chat_id: chatId,
    section_id: conversationId,
    role: 'assistant',
    type,
    content,
    content_type: 'text',
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    meta_data: {},
    created_at: seconds(createdAt),
    updated_at: seconds(createdAt),
  };
}

/** A chat whose client continues it with outputs. Pure. */
export function continuedChat(row: ChatRow): ChatChange {
  const { usage, pause, continued = 0 } = resultOf(row);
  const result: ChatResult = { usage, pause, continued: continued + 1 };
  return { status: 'in_progress', result: JSON.stringify(result) };
}

/** What the commit of a turn writes to its chat. The status follows (`recordedEnd`). Pure. */
export function endedChat(
  row: ChatRow,
  { result: { checkpoint }, usage }: TurnEnd,
  messages: readonly ChatMessageRecord[],
): ChatChange {
  const { usage: before, continued } = resultOf(row);
  const result: ChatResult = {
    usage: addUsage(before, usage),
    continued,
    pause: checkpoint?.id,
    end: checkpoint === undefined ? 'completed' : 'requires_action',
  };
  return {
    result: JSON.stringify(result),
    messages: JSON.stringify([...JSON.parse(row.messages), ...messages]),
  };
}

/** A chat whose pause a turn outside of the v3 API has answered: it waits for that turn's own pauses, if any. Pure. */
export function answeredChat(row: ChatRow, { result: { checkpoint } }: TurnEnd, now: number): ChatChange {
  if (checkpoint === undefined) return { status: 'completed', completedAt: new Date(now) };
  const { usage, continued } = resultOf(row);
  const result: ChatResult = { usage, continued, pause: checkpoint.id };
  return { status: 'requires_action', result: JSON.stringify(result) };
}

/** The end of a chat whose turn is stored; undefined for any other. Pure. */
export function recordedEnd(row: ChatRow, now: number): ChatChange | undefined {
  const { end, ...result } = resultOf(row);
  if (row.status !== 'in_progress' || end === undefined) return undefined;
  return {
    status: end,
    result: JSON.stringify(result),
    completedAt: end === 'requires_action' ? null : new Date(now),
  };
}

/** A chat whose turn broke: it waits again where its pause is still open, else it has failed or was canceled. Pure. */
export function brokenChat(
  row: ChatRow,
  reason: unknown,
  { isOpen, now }: { readonly isOpen: boolean; readonly now: number },
): ChatChange {
  const { usage, pause, continued } = resultOf(row);
  const error = errorOf(reason);
  if (isOpen) {
    const result: ChatResult = { usage, pause, continued, error };
    return { status: 'requires_action', result: JSON.stringify(result), completedAt: null };
  }
  const status = isCancellation(reason) ? 'canceled' : 'failed';
  const result: ChatResult = { usage, continued, ...(status === 'failed' && { error }) };
  return { status, result: JSON.stringify(result), completedAt: new Date(now) };
}

/** Codes of the errors with which a caller ends a chat: its lease was revoked, or its session's turn was aborted. */
const CANCELLATIONS: readonly unknown[] = [
  LeaseErrors.revoked.definition.code,
  SessionErrors.aborted.definition.code,
];

/** Whether a chat broke because a caller ended it or its client has disconnected. Pure. */
export function isCancellation(reason: unknown): boolean {
  const { code, kind } = (reason ?? {}) as { readonly code?: unknown; readonly kind?: unknown };
  return kind === 'client-closed' || CANCELLATIONS.includes(code);
}

function errorOf(thrown: unknown): NonNullable<ChatResult['error']> {
  const error = thrown instanceof GatewayError ? thrown : KernelErrors.internal();
  return { code: cozeCode(error), msg: error.detail };
}

/** The sum of the usage of two parts of one chat. Pure. */
function addUsage(one: ChatResult['usage'], other: ChatResult['usage']): ChatResult['usage'] {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
  };
}

/** The usage of a chat that has used nothing. */
export const NO_USAGE = { token_count: 0, output_count: 0, input_count: 0 };

export const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

function toUsage({ prompt_tokens, completion_tokens }: NonNullable<ChatResult['usage']>) {
  return {
    token_count: prompt_tokens + completion_tokens,
    output_count: completion_tokens,
    input_count: prompt_tokens,
  };
}
