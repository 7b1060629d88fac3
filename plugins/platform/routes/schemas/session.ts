import { pageQuery } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { SessionMessage, SessionRecord } from '../../../records/contract.ts';
import { Timestamp, toTimestamp } from './common.ts';

/** Messages of one answer at most; older ones are asked for with `before`. */
const MAX_MESSAGES = 1_000;

/** Which sessions are asked for. */
export const SessionQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  user_id: Type.Optional(
    Type.String({ maxLength: 10_000, description: 'Only sessions of this `X-Svc-User-Id`' }),
  ),
});

/** Which messages of a session are asked for. */
export const MessageQuery = Type.Object({
  limit: Type.Integer({ minimum: 0, default: MAX_MESSAGES, description: 'The newest ones; 1000 at most' }),
  before: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Only messages with a lower `seq`' }),
  ),
});

/** A session as it is told (specification 1, Session). */
export const SessionSchema = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  user_id: Type.String(),
  model: Type.String({ description: 'The alias that answered last' }),
  turns: Type.Integer(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** A stored message as it is told (decisions 1.6). */
export const SessionMessageSchema = Type.Object({
  id: Type.String(),
  seq: Type.Integer({ description: 'Counts from 1 in its session' }),
  role: Type.String(),
  content: Type.Unknown({ description: 'Text, a list of parts, or null' }),
  tool_calls: Type.Optional(Type.Array(Type.Unknown())),
  tool_call_id: Type.Optional(Type.String()),
  token_count: Type.Integer(),
  created_at: Timestamp,
});

/** A session with its messages, oldest first. */
export const SessionWithMessages = Type.Object({
  ...SessionSchema.properties,
  messages: Type.Array(SessionMessageSchema),
  messages_total: Type.Integer(),
});

/** The body that aborts a chat. What is no session id names no chat: 404. */
export const AbortChat = Type.Object({ session_id: Type.String({ minLength: 1, maxLength: 10_000 }) });

/** The chat that was aborted. */
export const AbortedChat = Type.Object({ status: Type.Literal('aborted'), session_id: Type.String() });

/** The page in a query; a `limit` above the maximum is the maximum. */
export function toMessagePage({ limit, before }: Static<typeof MessageQuery>) {
  return { limit: Math.min(limit, MAX_MESSAGES), before };
}

/** A session on the wire. */
export function toSession(session: SessionRecord): Static<typeof SessionSchema> {
  return {
    id: session.id,
    tenant_id: session.tenantId,
    user_id: session.userId,
    model: session.model,
    turns: session.turns,
    input_tokens: session.inputTokens,
    output_tokens: session.outputTokens,
    created_at: toTimestamp(session.createdAt),
    updated_at: toTimestamp(session.updatedAt),
  };
}

/** A message on the wire. */
export function toSessionMessage(stored: SessionMessage): Static<typeof SessionMessageSchema> {
  const { role, content = null, tool_calls, tool_call_id } = stored.message;
  return {
    id: stored.id,
    seq: stored.seq,
    role,
    content,
    ...(tool_calls !== undefined && { tool_calls: [...tool_calls] }),
    ...(tool_call_id !== undefined && { tool_call_id }),
    token_count: stored.tokenCount,
    created_at: toTimestamp(stored.createdAt),
  };
}
