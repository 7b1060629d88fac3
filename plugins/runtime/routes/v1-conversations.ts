import {
  AnyId,
  access,
  Id,
  type Route,
  refusing,
  requireSound,
  route,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import { chatCallOf } from '../../agent-engine/contract.ts';
import { readerOf, type SessionMessage } from '../../records/contract.ts';
import type { ConversationRecord } from '../services/conversations.ts';
import { seconds } from '../services/v3-chat/chat-record.ts';
import type { ConversationMessages } from '../services/v3-chat/conversation-messages.ts';
import { enteredProblems, readMessages } from '../services/v3-chat/entered-messages.ts';
import { EnterMessages, Message, MetaData, OpenId, ok, okSchema, openObject, Seconds } from './coze.ts';

/** Messages of one answer at most. */
const MAX_MESSAGES = 50;

const ConversationId = Type.String({ ...AnyId, minLength: 1, maxLength: 128 });
const ById = Type.Object({ conversation_id: ConversationId });

const ConversationSchema = okSchema(
  Type.Object({
    id: Id,
    created_at: Seconds,
    meta_data: Type.Record(Type.String(), Type.Unknown()),
    last_section_id: Id,
  }),
);

const ListBody = Type.Object({
  order: Type.Optional(Type.Unsafe<'desc' | 'asc' | null>({ enum: ['desc', 'asc', null], default: 'desc' })),
  chat_id: OpenId,
  before_id: OpenId,
  after_id: OpenId,
  limit: Type.Optional(
    Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, default: MAX_MESSAGES }),
  ),
});

const common = { errors: 'coze', tag: 'v1-conversations' } as const;

/** Conversations in the form of the compatible SDK: the records of `/api/v2/conversations` (decisions 3.3). */
export function v1ConversationRoutes(conversations: ConversationMessages): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/conversation/create',
      access: access.open(['write']),
      summary: 'Begin a conversation',
      bodyOptional: true,
      schema: {
        body: Type.Object({
          bot_id: Type.Optional(Type.String({ maxLength: 128, examples: ['helper'] })),
          meta_data: openObject(MetaData),
          messages: Type.Optional(EnterMessages),
        }),
        responses: { 200: ConversationSchema },
      },
      refuse: refusing(messageProblems),
      handle: async (call) => {
        requireSound(messageProblems(call.body));
        const { bot_id: botId = '', messages = [] } = call.body;
        const metaData = call.body.meta_data ?? {};
        const content = { botId, metaData };
        const said = readMessages(messages);
        const made = await conversations.begin(chatCallOf(call, undefined), call.entities(), content, said);
        call.audit({ sessionId: made.id });
        return ok(toConversation(made));
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/conversation/retrieve',
      failures: ['not-found'],
      access: access.open(['read']),
      summary: 'Read a conversation',
      schema: { query: ById, responses: { 200: ConversationSchema } },
      handle: async (call) =>
        ok(
          toConversation(
            await conversations.get(call.entities(), readerOf(call), call.query.conversation_id),
          ),
        ),
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/conversation/message/list',
      failures: ['not-found'],
      access: access.open(['read']),
      summary: 'List messages of a conversation, newest first, or with `order: asc` oldest first',
      bodyOptional: true,
      schema: {
        query: ById,
        body: ListBody,
        responses: {
          200: Type.Object({
            ...okSchema(Type.Array(Message)).properties,
            first_id: AnyId,
            last_id: AnyId,
            has_more: Type.Boolean({ examples: [false] }),
          }),
        },
      },
      handle: async (call) => {
        const { conversation_id: id } = call.query;
        const { body } = call;
        const place = { entities: call.entities(), reader: readerOf(call), id };
        const page = {
          order: body.order ?? 'desc',
          limit: Math.min(body.limit ?? MAX_MESSAGES, MAX_MESSAGES),
          before: body.before_id || undefined,
          after: body.after_id || undefined,
        };
        const { found, hasMore } = await conversations.page(place, page, body.chat_id || undefined);
        const data = found.map((one) => ('message' in one ? toMessage(id, one) : one));
        const last = { first_id: data[0]?.id ?? '', last_id: data.at(-1)?.id ?? '' };
        return { ...ok(data), ...last, has_more: hasMore };
      },
    }),
  ];
}

const messageProblems = ({ messages }: UnreadBody) => enteredProblems(messages, '/body/messages');

function toConversation({ id, createdAt, metaData }: ConversationRecord) {
  const created = seconds(createdAt.getTime());
  return { id, created_at: created, meta_data: metaData, last_section_id: id };
}

/** A message of a session as the SDK knows it (`ChatV3Message`). */
function toMessage(id: string, { message, createdAt, ...stored }: SessionMessage) {
  const { role, content, tool_calls: calls } = message;
  const isText = typeof content === 'string' || !content;
  const text = isText ? content || (calls ? JSON.stringify(calls) : '') : JSON.stringify(content);
  const answered = calls ? 'function_call' : 'answer';
  const type = role === 'user' ? 'question' : role === 'tool' ? 'tool_response' : answered;
  const at = seconds(createdAt.getTime());
  return {
    id: stored.id,
    conversation_id: id,
    section_id: id,
    role: role === 'user' ? 'user' : 'assistant',
    type,
    content: text,
    content_type: isText ? 'text' : 'object_string',
    meta_data: {},
    created_at: at,
    updated_at: at,
  };
}
