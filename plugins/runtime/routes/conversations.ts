import {
  AnyId,
  access,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Static } from 'typebox';
import { principalOf, readerOf, type SessionMessage, type Sessions } from '../../records/contract.ts';
import type { Conversations } from '../services/conversations.ts';

/** Messages of one answer at most; clients request older ones with `before`. */
const MAX_MESSAGES = 1_000;

const Title = Type.String({ maxLength: 500, examples: ['Sums'] });
const MetaData = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: 64,
  description: 'Whatever the client wants to keep with it; 64 members, 65,536 bytes at most as JSON',
  examples: [{ topic: 'sums' }],
});

const ConversationSchema = Type.Object({
  id: Id,
  bot_id: Type.String({ description: 'The agent that it was begun with', examples: ['helper'] }),
  user_id: AnyId,
  title: Title,
  meta_data: MetaData,
  created_at: Timestamp,
  updated_at: Timestamp,
});
const OneConversation = Type.Object({ conversation: ConversationSchema });

const MessageSchema = Type.Object({
  id: Id,
  conversation_id: AnyId,
  seq: Type.Integer({ description: 'Grows with each message', examples: [1] }),
  role: Type.String({ examples: ['user'] }),
  content: Type.String({
    examples: ['What is 17 * 23?'],
    description: 'Text; the JSON text of its parts where `content_type` is `object_string`',
  }),
  content_type: Type.Enum(['text', 'object_string']),
  created_at: Timestamp,
});

const ConversationParams = Type.Object({ conversation_id: Type.String() });
const SessionParams = Type.Object({ session_id: Type.String() });
const MessageQuery = Type.Object({
  limit: Type.Integer({ minimum: 0, default: 100, description: 'The newest ones; 1000, or 16 MiB, at most' }),
  before: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Only messages with a lower `seq`' }),
  ),
});

const toConversation = toWire(ConversationSchema);

const read = { method: 'GET', access: access.open(['read']), tag: 'conversations' } as const;
const write = { access: access.open(['write']), tag: 'conversations' } as const;
const remove = { method: 'DELETE', access: access.role('admin'), tag: 'conversations' } as const;

/** Conversations and their messages (specification 3; decisions 3.2). */
export function conversationRoutes(conversations: Conversations): readonly Route[] {
  return [
    route({
      ...read,
      path: '/conversations',
      summary: 'List conversations, newest first: your own, for administrators those of the tenant',
      schema: {
        query: Type.Object({
          ...pageQuery({ defaultLimit: 50 }).properties,
          bot_id: Type.Optional(Type.String({ maxLength: 128 })),
        }),
        responses: { 200: listOf('conversations', ConversationSchema) },
      },
      handle: async (call) => {
        const page = pageOf(call.query);
        const asked = { ...page, botId: call.query.bot_id };
        const found = await conversations.list(call.entities(), readerOf(call), asked);
        return { conversations: found.conversations.map(toConversation), total: found.total, ...page };
      },
    }),
    route({
      ...write,
      method: 'POST',
      path: '/conversations',
      summary: 'Begin a conversation with an agent; its id is the `session_id` of its chats',
      schema: {
        body: Type.Object({
          bot_id: Type.String({ minLength: 1, maxLength: 128, examples: ['helper'] }),
          title: Type.Optional(Title),
          meta_data: Type.Optional(MetaData),
        }),
        responses: { 201: OneConversation },
      },
      handle: async (call) => {
        const { bot_id: botId, title, meta_data: metaData } = call.body;
        const given = { botId, title, metaData };
        const conversation = await conversations.create(call.entities(), principalOf(call), given);
        return reply.created({ conversation: toConversation(conversation) });
      },
    }),
    route({
      ...read,
      path: '/conversations/{id}',
      summary: 'Read a conversation',
      schema: { params: IdParams, responses: { 200: OneConversation } },
      handle: async (call) => {
        const found = await conversations.get(call.entities(), readerOf(call), call.params.id);
        return { conversation: toConversation(found) };
      },
    }),
    route({
      ...write,
      method: 'PUT',
      path: '/conversations/{id}',
      summary: 'Change the title or the metadata of a conversation; what is left out stays',
      schema: {
        params: IdParams,
        body: Type.Object({ title: Type.Optional(Title), meta_data: Type.Optional(MetaData) }),
        responses: { 200: OneConversation },
      },
      handle: async (call) => {
        const { title, meta_data: metaData } = call.body;
        const { id } = call.params;
        const changed = await conversations.change(call.entities(), readerOf(call), id, { title, metaData });
        return { conversation: toConversation(changed) };
      },
    }),
    route({
      ...remove,
      path: '/conversations/{id}',
      summary: 'Delete a conversation with its messages',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        await conversations.remove(call.entities(), readerOf(call), call.params.id);
        return reply.empty();
      },
    }),
    route({
      ...read,
      path: '/conversations/{conversation_id}/messages',
      summary: 'List the newest messages of a conversation, oldest first',
      schema: {
        params: ConversationParams,
        query: MessageQuery,
        responses: { 200: Type.Object({ messages: Type.Array(MessageSchema), total: Type.Integer() }) },
      },
      handle: async (call) => {
        const { conversation_id: id } = call.params;
        const page = messagePage(call.query);
        const { messages, total } = await conversations.messages(call.entities(), readerOf(call), id, page);
        return { messages: messages.map((message) => toMessage(id, message)), total };
      },
    }),
    route({
      ...remove,
      path: '/conversations/{conversation_id}/messages/{message_id}',
      summary: 'Delete a message of a conversation',
      description:
        'Calls of tools and their results stay, without their content: a model would not understand one without the other.',
      schema: {
        params: Type.Object({ ...ConversationParams.properties, message_id: Type.String() }),
        responses: { 204: null },
      },
      handle: async (call) => {
        const { conversation_id: conversationId, message_id: messageId } = call.params;
        await conversations.removeMessage(call.entities(), readerOf(call), { conversationId, messageId });
        return reply.empty();
      },
    }),
  ];
}

/** The messages of sessions, including those that began outside of conversations (specification 3; decisions 3.2). */
export function sessionRoutes(sessions: Sessions): readonly Route[] {
  return [
    route({
      ...read,
      path: '/sessions/{session_id}/messages',
      summary: 'List the newest messages of a session, oldest first',
      schema: {
        params: SessionParams,
        query: MessageQuery,
        responses: {
          200: Type.Object({
            session_id: AnyId,
            messages: Type.Array(MessageSchema),
            total: Type.Integer(),
          }),
        },
      },
      handle: async (call) => {
        const { session_id: id } = call.params;
        await sessions.get(call.entities(), readerOf(call), id);
        const { messages, total } = await sessions.messages(call.entities(), id, messagePage(call.query));
        return { session_id: id, messages: messages.map((message) => toMessage(id, message)), total };
      },
    }),
    route({
      ...remove,
      path: '/sessions/{session_id}',
      summary: 'Clear a session: its messages, and what it waits for',
      schema: { params: SessionParams, responses: { 204: null } },
      handle: async (call) => {
        await sessions.remove(call.entities(), readerOf(call), call.params.session_id);
        return reply.empty();
      },
    }),
  ];
}

function messagePage({ limit, before }: Static<typeof MessageQuery>) {
  return { limit: Math.min(limit, MAX_MESSAGES), before };
}

function toMessage(conversationId: string, stored: SessionMessage): Static<typeof MessageSchema> {
  const { content } = stored.message;
  const isText = content === undefined || content === null || typeof content === 'string';
  return {
    id: stored.id,
    conversation_id: conversationId,
    seq: stored.seq,
    role: stored.message.role,
    content: isText ? (content ?? '') : JSON.stringify(content),
    content_type: isText ? 'text' : 'object_string',
    created_at: stored.createdAt.toISOString(),
  };
}
