import { cozeCode, defineErrors, GatewayError, KernelErrors } from 'agent-gateway';
import { type Interrupt, TurnErrors } from '../../../agent-engine/contract.ts';
import { SessionErrors, type Usage } from '../../../records/contract.ts';
import type { ChatRow, StoredStatus } from '../../store/chats.ts';
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
}

/** How a turn ended. */
export interface ChatOutcome extends ChatResult {
  readonly status: StoredStatus;
}

/** A chat as the SDK knows it (`CreateChatData`). Times are seconds since the epoch. Pure. */
export function toChat(row: ChatRow, interrupts: readonly Interrupt[] = []) {
  const { id, conversationId, botId, status, createdAt, completedAt } = row;
  const { usage, error }: ChatResult = JSON.parse(row.result);
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
    ...(usage && { usage: toUsage(usage) }),
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

/** The outcome of a chat that failed. Pure. */
export function failureOf(thrown: unknown): ChatOutcome {
  const error = thrown instanceof GatewayError ? thrown : KernelErrors.internal();
  if (error.code === SessionErrors.aborted.definition.code) return { status: 'canceled' };
  return { status: 'failed', error: { code: cozeCode(error), msg: error.detail } };
}

/** The sum of the usage of two parts of one chat. Pure. */
export function addUsage(one: ChatResult['usage'], other: ChatResult['usage']): ChatResult['usage'] {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
  };
}

export const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000);

function toUsage({ prompt_tokens, completion_tokens }: NonNullable<ChatResult['usage']>) {
  return {
    token_count: prompt_tokens + completion_tokens,
    output_count: completion_tokens,
    input_count: prompt_tokens,
  };
}
