import {
  access,
  type Call,
  KernelErrors,
  type Route,
  reply,
  route,
  type SseStream,
  Type,
} from 'agent-gateway';
import type { Static } from 'typebox';
import { CONTEXT_HEADER, chatCallOf } from '../../agent-engine/contract.ts';
import { readerOf } from '../../records/contract.ts';
import type { ChatEvent } from '../services/v3-chat/chat-run.ts';
import { readMessages } from '../services/v3-chat/entered-messages.ts';
import type { BegunV3Chat, V3Chats } from '../services/v3-chat/v3-chats.ts';
import { EnterMessages, MetaData, ok, okSchema } from './coze.ts';

const Id = Type.String({ minLength: 1, maxLength: 128 });
const Place = Type.Object({ conversation_id: Id, chat_id: Id });
const ContextHeader = Type.Object(CONTEXT_HEADER);

const ChatBody = Type.Object({
  bot_id: Type.String({ minLength: 1, maxLength: 128, description: 'Name of an agent' }),
  user_id: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Not used: `X-Svc-User-Id` divides the users of a credential',
    }),
  ),
  conversation_id: Type.Optional(Id),
  additional_messages: Type.Optional(EnterMessages),
  stream: Type.Optional(Type.Boolean({ default: false })),
  auto_save_history: Type.Optional(Type.Boolean({ default: true })),
  meta_data: Type.Optional(MetaData),
});

const SubmitBody = Type.Object({
  tool_outputs: Type.Array(Type.Object({ tool_call_id: Id, output: Type.String({ maxLength: 100_000 }) }), {
    minItems: 1,
    maxItems: 100,
  }),
  stream: Type.Optional(Type.Boolean({ default: false })),
});

const ChatSchema = Type.Object({
  id: Type.String(),
  conversation_id: Type.String(),
  bot_id: Type.String(),
  status: Type.Enum(['created', 'in_progress', 'completed', 'failed', 'requires_action', 'canceled']),
  created_at: Type.Integer({ description: 'Seconds since the epoch, as all times of these routes' }),
  completed_at: Type.Optional(Type.Integer()),
  failed_at: Type.Optional(Type.Integer()),
  meta_data: Type.Record(Type.String(), Type.String()),
  last_error: Type.Optional(Type.Object({ code: Type.Integer(), msg: Type.String() })),
  usage: Type.Optional(
    Type.Object({ token_count: Type.Integer(), output_count: Type.Integer(), input_count: Type.Integer() }),
  ),
  required_action: Type.Optional(
    Type.Object({
      type: Type.Literal('submit_tool_outputs'),
      submit_tool_outputs: Type.Object({ tool_calls: Type.Array(Type.Unknown()) }),
    }),
  ),
});
const OneChat = { 200: okSchema(ChatSchema) };

const unknown = { failures: ['not-found'] } as const;
const run = {
  ...unknown,
  method: 'POST',
  access: access.open(['execute']),
  errors: 'coze',
  tag: 'v3-chat',
} as const;
const read = { ...unknown, access: access.open(['read']), errors: 'coze', tag: 'v3-chat' } as const;
const streaming = {
  ...run,
  countsAsStream: ({ body }: { readonly body: { readonly stream?: boolean } }) => body.stream === true,
  description:
    'With `stream: true` answers with `text/event-stream`: `conversation.chat.created`, `.in_progress`, `conversation.message.delta`, `.completed`, ' +
    '`conversation.chat.completed`, `.failed` or `.requires_action`, and `done`. Without, the chat goes on in the background: retrieve it.',
} as const;

/** The v3 chat of the compatible SDK (specification 3; decisions 3.3). */
export function v3ChatRoutes(chats: V3Chats): readonly Route[] {
  return [
    route({
      ...streaming,
      path: '/v3/chat',
      summary: 'Chat with an agent',
      schema: {
        query: Type.Object({ conversation_id: Type.Optional(Id) }),
        headers: ContextHeader,
        body: ChatBody,
        responses: OneChat,
      },
      handle: async (call) => {
        const { body, query } = call;
        const conversationId = query.conversation_id ?? body.conversation_id;
        refuseUnfit(body, conversationId);
        const begun = await chats.begin(chatCallOf(call, undefined, call.headers['x-svc-context']), {
          botId: body.bot_id,
          conversationId,
          messages: readMessages(body.additional_messages ?? [], '/body/additional_messages'),
          isKept: body.auto_save_history !== false,
          metaData: body.meta_data ?? {},
        });
        return answer(call, begun, body.stream);
      },
    }),
    route({
      ...streaming,
      path: '/v3/chat/submit_tool_outputs',
      summary:
        'Answer what a chat waits for: `approve` or `reject` for an approval, the answer of a question',
      schema: { query: Place, headers: ContextHeader, body: SubmitBody, responses: OneChat },
      handle: async (call) => {
        const outputs = call.body.tool_outputs.map(({ tool_call_id: toolCallId, output }) => ({
          ...{ toolCallId, output },
        }));
        const chat = chatCallOf(call, undefined, call.headers['x-svc-context']);
        const begun = await chats.submit(chat, readerOf(call), placeOf(call.query), outputs);
        return answer(call, begun, call.body.stream);
      },
    }),
    route({
      ...run,
      path: '/v3/chat/cancel',
      summary: 'End a chat that is in flight, in whichever replica, or that waits',
      schema: { body: Place, responses: OneChat },
      handle: async (call) => {
        call.audit({ sessionId: call.body.conversation_id });
        return ok(await chats.cancel(call.entities(), readerOf(call), placeOf(call.body)));
      },
    }),
    ...(['GET', 'POST'] as const).flatMap((method) => [
      route({
        ...read,
        method,
        path: '/v3/chat/retrieve',
        summary: 'Read where a chat stands',
        schema: { query: Place, responses: OneChat },
        handle: async (call) =>
          ok(await chats.retrieve(call.entities(), readerOf(call), placeOf(call.query))),
      }),
      route({
        ...read,
        method,
        path: '/v3/chat/message/list',
        summary: 'List what was said in a chat that has ended or waits, oldest first',
        schema: { query: Place, responses: { 200: okSchema(Type.Array(Type.Unknown())) } },
        handle: async (call) =>
          ok(await chats.messages(call.entities(), readerOf(call), placeOf(call.query))),
      }),
    ]),
  ];
}

/** What no schema says: something has to be said, and what goes on in the background has to be kept. */
function refuseUnfit(
  { additional_messages: said = [], stream, auto_save_history: isKept }: Static<typeof ChatBody>,
  conversationId: string | undefined,
): void {
  const errors = [];
  if (said.length === 0 && conversationId === undefined) {
    const message = 'is needed where no conversation_id is given';
    errors.push({ pointer: '/body/additional_messages', message });
  }
  if (isKept === false && stream !== true) {
    errors.push({ pointer: '/body/auto_save_history', message: 'may be false only with stream: true' });
  }
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
}

function answer(call: Call, begun: BegunV3Chat, isStream: boolean | undefined) {
  call.audit({ sessionId: begun.chat.conversation_id });
  if (isStream === true) return reply.sse((stream) => begun.follow(stream.signal, sendTo(stream)));
  begun.detach();
  return ok(begun.chat);
}

/** Writes events as the SDK reads them. */
export function sendTo(stream: SseStream) {
  return ({ event, data }: ChatEvent) => stream.send({ event, data: JSON.stringify(data ?? '[DONE]') });
}

function placeOf({ conversation_id: conversationId, chat_id: chatId }: Static<typeof Place>) {
  return { conversationId, chatId };
}
