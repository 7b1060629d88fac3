import { Type } from 'agent-gateway';
import type { TSchema } from 'typebox';

/*
 * What the routes of the compatible SDK share (decisions 3.3).
 * Source: the types of the npm package @coze/api
 */

/** Pairs that a client keeps with a chat or a conversation. */
export const MetaData = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
  maxProperties: 16,
  description: 'Whatever the client wants to keep with it; 16 pairs',
});

/** What is said (`EnterMessage`). */
export const EnterMessages = Type.Array(
  Type.Object({
    role: Type.Enum(['user', 'assistant']),
    type: Type.Optional(
      Type.Enum(['query', 'question', 'answer'], { description: 'Only texts may be entered' }),
    ),
    content: Type.Optional(Type.String({ maxLength: 1_000_000 })),
    content_type: Type.Optional(
      Type.Enum(['text', 'object_string'], {
        description: '`object_string`: JSON text of `{type: "text", text}` and `{type: "image", file_url}`',
      }),
    ),
  }),
  { maxItems: 100 },
);

/** An answer of these routes. */
export const ok = <D>(data: D) => ({ code: 0, msg: '', data });

export const okSchema = <S extends TSchema>(data: S) =>
  Type.Object({ code: Type.Literal(0), msg: Type.String(), data });
