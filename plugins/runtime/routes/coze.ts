import { AnyId, Id, Type } from 'agent-gateway';
import type { Static, TSchema } from 'typebox';
import { MAX_ENTERED } from '../services/v3-chat/entered-messages.ts';

/*
 * What the routes of the compatible SDK share (decisions 3.3).
 * Source: the types of the npm package @coze/api
 */

/** A moment in the form of these routes. */
export const Seconds = Type.Integer({ description: 'Seconds since the epoch', examples: [1_795_459_265] });

/** An id that a client may leave open: the SDK for Python writes that as `null`, and in a query as an empty text. */
export const OpenId = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 128 }));

/** An object that a client may leave open, as `OpenId`. */
export const openObject = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Unsafe<Static<S> | null>({ ...schema, type: ['object', 'null'] }));

/** Pairs that a client stores with a chat or a conversation. */
export const MetaData = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
  maxProperties: 16,
  description: 'Whatever the client wants to keep with it; 16 pairs',
});

/** The messages that a client sends (`EnterMessage`). */
export const EnterMessages = Type.Array(
  Type.Object({
    role: Type.Enum(['user', 'assistant']),
    type: Type.Optional(
      Type.Enum(['question', 'query', 'answer', ''], { description: 'Only texts may be entered' }),
    ),
    content: Type.Optional(Type.String({ maxLength: 1_000_000 })),
    content_type: Type.Optional(
      Type.Enum(['text', 'object_string', ''], {
        description: '`object_string`: JSON text of `{type: "text", text}` and `{type: "image", file_url}`',
      }),
    ),
  }),
  { maxItems: MAX_ENTERED, examples: [[{ role: 'user', content: 'What is 17 * 23?' }]] },
);

/** A call of a tool for which a chat waits. */
export const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.String(),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
});

/** A message of a chat, or of a conversation outside of chats (`ChatV3Message`). */
export const Message = Type.Object({
  id: Id,
  conversation_id: AnyId,
  bot_id: Type.Optional(Type.String()),
  chat_id: Type.Optional(Id),
  section_id: AnyId,
  role: Type.Enum(['user', 'assistant']),
  type: Type.String({
    description: 'question, answer, function_call, tool_response …',
    examples: ['question'],
  }),
  content: Type.String({ examples: ['What is 17 * 23?'] }),
  content_type: Type.Enum(['text', 'object_string']),
  reasoning_content: Type.Optional(Type.String()),
  meta_data: Type.Record(Type.String(), Type.String()),
  created_at: Seconds,
  updated_at: Seconds,
});

/** An answer of these routes. */
export const ok = <D>(data: D) => ({ code: 0, msg: '', data });

export const okSchema = <S extends TSchema>(data: S) =>
  Type.Object({ code: Type.Literal(0), msg: Type.String({ examples: [''] }), data });
