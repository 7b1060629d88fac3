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
  searchQuery,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { ChatMessage } from '../../agent-engine/contract.ts';
import {
  isTenantAdmin,
  principalOf,
  readerOf,
  SessionErrors,
  type SessionMessage,
  type Sessions,
  type Turns,
} from '../../records/contract.ts';
import { ContentPart, ToolCall } from './chat-schemas.ts';
import { done } from './common.ts';

/** Messages of one answer at most; clients request older ones with `before`. */
const MAX_MESSAGES = 1_000;

/** The query of a list of sessions. */
const SessionQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  ...searchQuery('id', 'user_id', 'model'),
  user_id: Type.Optional(
    Type.String({ maxLength: 10_000, description: 'Only sessions of this `X-Svc-User-Id`' }),
  ),
});

/** The query of the messages of a session. */
const MessageQuery = Type.Object({
  limit: Type.Integer({
    minimum: 0,
    default: MAX_MESSAGES,
    description: 'The newest ones; 1000, or 16 MiB, at most',
  }),
  before: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Only messages with a lower `seq`' }),
  ),
});

/** A session as clients see it (specification 1, Session). */
const SessionSchema = Type.Object({
  id: AnyId,
  tenant_id: Id,
  user_id: AnyId,
  model: Type.String({ description: 'The alias that answered last', examples: ['default'] }),
  turns: Type.Integer({ examples: [1] }),
  input_tokens: Type.Integer({ examples: [671] }),
  output_tokens: Type.Integer({ examples: [37] }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** A stored message as clients see it (decisions 1.6). */
const SessionMessageSchema = Type.Object({
  id: Id,
  seq: Type.Integer({ description: 'Counts from 1 in its session', examples: [1] }),
  role: Type.String({ examples: ['user'] }),
  content: Type.Union(
    [Type.String({ examples: ['What is 6 times 7?'] }), Type.Array(ContentPart), Type.Null()],
    {
      examples: ['What is 6 times 7?'],
    },
  ),
  tool_calls: Type.Optional(Type.Array(ToolCall)),
  tool_call_id: Type.Optional(Type.String()),
  token_count: Type.Integer({ examples: [9] }),
  created_at: Timestamp,
});

/** A session with its messages, oldest first. */
const SessionWithMessages = Type.Object({
  ...SessionSchema.properties,
  messages: Type.Array(SessionMessageSchema),
  messages_total: Type.Integer(),
});

/** The body that aborts a chat. A text that is no session id names no chat: 404. */
const AbortChat = Type.Object({ session_id: Type.String({ ...AnyId, minLength: 1, maxLength: 10_000 }) });

/** The chat that was aborted. */
const AbortedChat = Type.Object({ status: Type.Literal('aborted'), session_id: AnyId });

const toSession = toWire(SessionSchema);

/** A message on the wire. */
function toSessionMessage(stored: SessionMessage): Static<typeof SessionMessageSchema> {
  const { role, content = null, tool_calls, tool_call_id } = stored.message;
  return {
    id: stored.id,
    seq: stored.seq,
    role,
    content: typeof content === 'string' || content === null ? content : [...content],
    ...(tool_calls !== undefined && { tool_calls: [...tool_calls] }),
    ...(tool_call_id !== undefined && { tool_call_id }),
    token_count: stored.tokenCount,
    created_at: stored.createdAt.toISOString(),
  };
}

const PATH = '/v1/sessions';
const common = { access: access.role('user'), tag: 'sessions' } as const;

/** Stored conversations, and the route that aborts a chat in flight (specification 1, Sessions; decisions 1.6). */
export function sessionRoutes(sessions: Sessions, turns: Turns): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List sessions, the last used first: your own, for administrators those of the tenant',
      schema: { query: SessionQuery, responses: { 200: listOf('sessions', SessionSchema) } },
      handle: async (call) => {
        const page = pageOf(call.query);
        const filter = { userId: call.query.user_id, q: call.query.q };
        const found = await sessions.list(call.entities(), readerOf(call), filter, page);
        return { sessions: found.sessions.map(toSession), total: found.total, ...page };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: `${PATH}/{id}`,
      summary: 'Read a session with its newest messages, oldest first',
      schema: { params: IdParams, query: MessageQuery, responses: { 200: SessionWithMessages } },
      handle: async (call) => {
        const { id } = call.params;
        const session = await sessions.get(call.entities(), readerOf(call), id);
        const { limit, before } = call.query;
        const page = { limit: Math.min(limit, MAX_MESSAGES), before };
        const { messages, total } = await sessions.messages(call.entities(), id, page);
        return { ...toSession(session), messages: messages.map(toSessionMessage), messages_total: total };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a session with its messages; its usage and receipts stay',
      schema: { params: IdParams, responses: { 204: null } },
      handle: (call) => done(sessions.remove(call.entities(), readerOf(call), call.params.id)),
    }),
    route({
      method: 'POST',
      path: '/v1/chat/abort',
      access: access.role('user', { scopes: ['execute'] }),
      tag: 'chat',
      failures: ['not-found'],
      summary: 'End the chat that is in flight in a session, in whichever replica; it stores nothing',
      schema: { body: AbortChat, responses: { 200: AbortedChat } },
      handle: async (call) => {
        const { session_id } = call.body;
        const isAborted = await turns.abort(call.entities(), readerOf(call), session_id);
        if (!isAborted) throw SessionErrors.notFound('No chat is in flight in this session');
        call.audit({ sessionId: session_id });
        return { status: 'aborted', session_id } as const;
      },
    }),
  ];
}

/** The messages of a session for trying the console. */
const MOCK_MESSAGES: readonly ChatMessage[] = [
  { role: 'user', content: 'What is 6 times 7?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'call_mock',
        type: 'function',
        function: { name: 'calculator', arguments: '{"expression":"6*7"}' },
      },
    ],
  },
  { role: 'tool', tool_call_id: 'call_mock', content: '42' },
  { role: 'assistant', content: '6 times 7 is 42.' },
];

/**
 * Makes a session with demo messages and no usage. To be registered with `SVC_ENABLE_MOCK_SESSIONS=true` only
 * (decisions 1.14).
 */
export function mockSessionRoute(sessions: Sessions, turns: Turns): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/v1/mock-sessions',
    summary: 'Create a session with demo messages, for trying the console',
    schema: { responses: { 201: SessionSchema } },
    handle: async (call) => {
      const { identity, tenant, signal } = call;
      await using turn = await turns.begin({
        principal: principalOf(call),
        isAdmin: isTenantAdmin(identity),
        maxSessions: tenant.maxSessions,
        signal,
      });
      await turn.commit({ model: 'demo', source: 'chat', messages: MOCK_MESSAGES, uses: [] });
      call.audit({ sessionId: turn.sessionId });
      return reply.created(toSession(await sessions.get(call.entities(), readerOf(call), turn.sessionId)));
    },
  });
}
