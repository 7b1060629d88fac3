import {
  AnyId,
  access,
  type Call,
  type FieldError,
  Id,
  type Route,
  refusing,
  reply,
  requireSound,
  route,
  type SseStream,
  Type,
  type UnreadBody,
  withExample,
} from 'agent-gateway';
import type { Static } from 'typebox';
import { CHAT_HEADERS, chatCallOf } from '../../agent-engine/contract.ts';
import { readerOf } from '../../records/contract.ts';
import type { ChatEvent } from '../services/v3-chat/chat-run.ts';
import { enteredProblems, readMessages } from '../services/v3-chat/entered-messages.ts';
import type { BegunV3Chat, V3Chats } from '../services/v3-chat/v3-chats.ts';
import {
  EnterMessages,
  Message,
  MetaData,
  OpenId,
  ok,
  okSchema,
  openObject,
  Seconds,
  ToolCall,
} from './coze.ts';

const GivenId = Type.String({ ...AnyId, minLength: 1, maxLength: 128 });
const Place = Type.Object({ conversation_id: GivenId, chat_id: GivenId });
const ChatHeaders = Type.Object(CHAT_HEADERS);

const ChatBody = Type.Object({
  bot_id: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Name of an agent',
    examples: ['helper'],
  }),
  user_id: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Not used: `X-Svc-User-Id` divides the users of a credential',
    }),
  ),
  conversation_id: OpenId,
  additional_messages: Type.Optional(EnterMessages),
  stream: Type.Optional(Type.Boolean({ default: false })),
  auto_save_history: Type.Optional(Type.Boolean({ default: true })),
  meta_data: openObject(MetaData),
});

const SubmitBody = Type.Object({
  tool_outputs: Type.Array(
    Type.Object({
      tool_call_id: GivenId,
      output: Type.String({ maxLength: 100_000, examples: ['approve'] }),
    }),
    {
      minItems: 1,
      maxItems: 100,
    },
  ),
  stream: Type.Optional(Type.Boolean({ default: false })),
});

const Answer = withExample(Message, {
  bot_id: 'helper',
  role: 'assistant',
  type: 'answer',
  content: '17 * 23 is 391.',
});
const CALL = { name: 'calculator', arguments: '{"expression":"17 * 23"}' };
const REQUIRED = {
  type: 'submit_tool_outputs' as const,
  submit_tool_outputs: {
    tool_calls: [{ id: '01a209b6-339b-72b4-b464-19aceb847785', type: 'function', function: CALL }],
  },
};

const ChatSchema = Type.Object({
  id: Id,
  conversation_id: AnyId,
  bot_id: Type.String({ examples: ['helper'] }),
  status: Type.Enum(['created', 'in_progress', 'completed', 'failed', 'requires_action', 'canceled'], {
    examples: ['in_progress'],
  }),
  created_at: Seconds,
  completed_at: Type.Optional(Type.Integer({ description: 'Seconds since the epoch' })),
  failed_at: Type.Optional(Type.Integer({ description: 'Seconds since the epoch' })),
  meta_data: Type.Record(Type.String(), Type.String()),
  last_error: Type.Optional(Type.Object({ code: Type.Integer(), msg: Type.String() })),
  usage: Type.Object(
    { token_count: Type.Integer(), output_count: Type.Integer(), input_count: Type.Integer() },
    { description: 'Zeros until a turn has ended' },
  ),
  required_action: Type.Optional(
    Type.Object({
      type: Type.Literal('submit_tool_outputs'),
      submit_tool_outputs: Type.Object({ tool_calls: Type.Array(ToolCall) }),
    }),
  ),
});
const OneChat = { 200: okSchema(ChatSchema) };
const Canceled = okSchema(withExample(ChatSchema, { status: 'canceled', completed_at: 1_795_459_269 }));
const WaitingChat = okSchema(
  withExample(ChatSchema, { status: 'requires_action', required_action: REQUIRED }),
);

const STREAMED = {
  id: '01a209b6-35f3-718e-9579-934be4b0f745',
  conversation_id: '01a209b6-35f2-7497-bbea-f9b93f1c7123',
  bot_id: 'helper',
  created_at: 1_795_459_266,
  usage: { token_count: 0, output_count: 0, input_count: 0 },
};
const streamed = (status: string) =>
  `event: conversation.chat.${status}\ndata: ${JSON.stringify({ ...STREAMED, status })}\n\n`;
/** The stream of chats with agents and with workflows. */
export const V3Stream = Type.String({
  description:
    'Server-sent events `conversation.chat.created`, `.in_progress`, `conversation.message.delta`, `.completed`, ' +
    '`conversation.chat.completed`, `.failed` or `.requires_action`, and `done`',
  examples: [
    `${streamed('created')}${streamed('in_progress')}${streamed('completed')}event: done\ndata: "[DONE]"\n\n`,
  ],
});

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
  description: 'Without `stream: true` the chat goes on in the background: retrieve it.',
} as const;

/** The v3 chat of the compatible SDK (specification 3; decisions 3.3). */
export function v3ChatRoutes(chats: V3Chats): readonly Route[] {
  return [
    route({
      ...streaming,
      path: '/v3/chat',
      summary: 'Chat with an agent',
      schema: {
        query: Type.Object({ conversation_id: OpenId }),
        headers: ChatHeaders,
        body: ChatBody,
        responses: OneChat,
        stream: V3Stream,
      },
      refuse: refusing(chatProblems),
      handle: async (call) => {
        const { body, query } = call;
        requireSound(chatProblems(body, query));
        const conversationId = query.conversation_id || body.conversation_id || undefined;
        const begun = await chats.begin(chatCallOf(call, undefined, call.headers), {
          botId: body.bot_id,
          conversationId,
          messages: readMessages(body.additional_messages ?? []),
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
      schema: {
        query: Place,
        headers: ChatHeaders,
        body: SubmitBody,
        responses: OneChat,
        stream: V3Stream,
      },
      handle: async (call) => {
        const outputs = call.body.tool_outputs.map(({ tool_call_id: toolCallId, output }) => ({
          toolCallId,
          output,
        }));
        const chat = chatCallOf(call, undefined, call.headers);
        const begun = await chats.submit(chat, readerOf(call), placeOf(call.query), outputs);
        return answer(call, begun, call.body.stream);
      },
    }),
    route({
      ...run,
      path: '/v3/chat/cancel',
      summary: 'End a chat that is in flight, in whichever replica, or that waits',
      schema: { body: Place, responses: { 200: Canceled } },
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
        schema: { query: Place, responses: { 200: WaitingChat } },
        handle: async (call) =>
          ok(await chats.retrieve(call.entities(), readerOf(call), placeOf(call.query))),
      }),
      route({
        ...read,
        method,
        path: '/v3/chat/message/list',
        summary: 'List what was said in a chat that has ended or waits, oldest first',
        schema: { query: Place, responses: { 200: okSchema(Type.Array(Answer)) } },
        handle: async (call) =>
          ok(await chats.messages(call.entities(), readerOf(call), placeOf(call.query))),
      }),
    ]),
  ];
}

/** The rules that no schema can express: there must be a message, and a chat in the background must be stored. */
function chatProblems(body: UnreadBody, query: UnreadBody): readonly FieldError[] {
  const { additional_messages: said = [], stream = false, auto_save_history: isKept } = body;
  const problems = [...enteredProblems(said, '/body/additional_messages')];
  const isContinued = Boolean(query.conversation_id || body.conversation_id);
  if (Array.isArray(said) && said.length === 0 && !isContinued) {
    const message = 'is needed where no conversation_id is given';
    problems.push({ pointer: '/body/additional_messages', message });
  }
  if (isKept === false && stream === false) {
    problems.push({ pointer: '/body/auto_save_history', message: 'may be false only with stream: true' });
  }
  return problems;
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
