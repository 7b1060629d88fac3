import {
  AnyId,
  access,
  type Call,
  Id,
  listOf,
  pageOf,
  pageQuery,
  type Route,
  reply,
  route,
  Timestamp,
  Type,
  withExample,
} from 'agent-gateway';
import type { Static } from 'typebox';
import { CHAT_HEADERS, chatCallOf } from '../../agent-engine/contract.ts';
import { readerOf, SessionErrors } from '../../records/contract.ts';
import type { BegunChat, Chats } from '../services/chat/chats.ts';
import type { StreamMode } from '../services/chat/stream-format.ts';

/** The header of an answer that holds its session's id. */
const SESSION_HEADER = 'x-svc-session-id';

const AgentId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Name of an agent',
  examples: ['helper'],
});
const SessionId = Type.String({
  ...AnyId,
  pattern: '^[A-Za-z0-9._-]{1,128}$',
  patternErrorMessage: 'must have 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"',
  description: '1 to 128 characters of A-Z, a-z, 0-9, `.`, `_` and `-`',
});

const Background = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'The chat goes on when its client leaves, and can be read again: `GET /chat/stream`',
  }),
);

const ChatBody = Type.Object({
  agent_id: AgentId,
  session_id: Type.Optional(SessionId),
  message: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    examples: ['Use the calculator: what is 17 * 23?'],
  }),
  background: Background,
});

const ResumeBody = Type.Object({
  agent_id: AgentId,
  session_id: SessionId,
  input: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'A decision by the id of each open pause, `{decision: "approve" | "reject" | "edit", arguments?, message?}` or `{answers}`; or the plain one where exactly one is open, ' +
      'which a repeated request must not use: it would decide the next pause',
    examples: [{ decision: 'approve' }],
  }),
  background: Background,
});

const Place = Type.Object({ agent_id: AgentId, session_id: SessionId });

/** The query or the header selects the mode (specification 3, Streaming formats). */
const ModeQuery = Type.Object({
  a2ui: Type.Optional(Type.Boolean({ description: 'Named events with a JSON envelope' })),
});
const ModeHeaders = Type.Object({ 'x-a2ui': Type.Optional(Type.String({ maxLength: 16 })) });
const ChatHeaders = Type.Object({ ...ModeHeaders.properties, ...CHAT_HEADERS });

/** The id of an event of a chat in the background: its chat, and its number there. */
const LastEventId = Type.Optional(
  Type.String({
    pattern: '^([0-9a-f-]{36}:[0-9]{1,9})?$',
    patternErrorMessage: 'must be the `id` of an event that a stream has brought',
    description: '`id` of the last event that was read: only what comes after it is sent',
  }),
);

const CALL = {
  id: 'call_1174452b-08c5-4bae-b3b7-8c89c8176d4a',
  name: 'calculator',
  arguments: '{"expression":"17 * 23"}',
};
const InterruptSchema = Type.Object({
  id: Id,
  type: Type.Enum(['approval', 'question']),
  agent_path: Type.Array(Type.String(), {
    description: 'From the outermost agent to the one that asks',
    examples: [['helper']],
  }),
  reason: Type.String({ examples: ['The agent wants to call calculator.'] }),
  tool_call: Type.Optional(
    Type.Object({ id: Type.String(), name: Type.String(), arguments: Type.String() }, { examples: [CALL] }),
  ),
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.Enum(['text', 'confirm', 'select']),
      label: Type.String(),
      required: Type.Boolean(),
      options: Type.Optional(Type.Array(Type.String(), { description: 'Of a `select`' })),
    }),
    { description: 'Of a question', examples: [[]] },
  ),
});

const Waiting = {
  session_id: AnyId,
  agent_id: AgentId,
  checkpoint_id: Id,
  created_at: Timestamp,
};
const WaitingSchema = Type.Object({ ...Waiting, interrupts: Type.Array(InterruptSchema) });

const InterruptState = Type.Object({
  interrupted: Type.Boolean(),
  state: Type.Optional(withExample(WaitingSchema, {})),
});

const { total, ...listed } = listOf(
  'interrupts',
  Type.Object({ ...InterruptSchema.properties, ...Waiting }),
).properties;
const WaitingList = Type.Object({
  ...listed,
  total: Type.Integer({ ...total, description: 'Sessions that wait, as `limit` and `offset` count them' }),
});

const INTERRUPT = {
  id: '01a209b6-303a-74d9-bda2-ab9641d2c7f4',
  type: 'approval',
  agent_path: ['helper'],
  reason: 'The agent wants to call calculator.',
  tool_call: CALL,
  fields: [],
};
/** The stream of a chat, as text or, with A2UI, as named events. */
const ChatStream = Type.String({
  description:
    'Server-sent events: chunks of text, `interrupt` with what the chat waits for, `error`, and `[DONE]`; with `a2ui=true` or `X-A2UI: true` the events `text`, ' +
    '`thinking`, `tool_call`, `tool_result`, `agent_switch`, `interrupt`, `error` and `done`, each `{type, timestamp, data}`',
  examples: [`event: interrupt\ndata: ${JSON.stringify(INTERRUPT)}\n\ndata: [DONE]\n\n`],
});

const ToldSession = Type.Object({
  [SESSION_HEADER]: Type.Optional(Type.String({ description: 'The session of this turn, for the next one' })),
});

const run = { access: access.open(['execute']), tag: 'chat' } as const;
const read = { method: 'GET', access: access.open(['read']), tag: 'chat' } as const;

const streaming = {
  ...run,
  method: 'POST',
  countsAsStream: () => true,
  // The agent, the session or the model is not found, or the provider fails.
  failures: ['not-found', 'upstream'],
} as const;

/** What calls that run a chat have in common. */
const exchange = {
  query: ModeQuery,
  headers: ChatHeaders,
  stream: ChatStream,
  answerHeaders: ToldSession,
} as const;

/** Chats with agents, as streams that may pause (specification 3; decisions 3.1). */
export function chatRoutes(chats: Chats): readonly Route[] {
  return [
    route({
      ...streaming,
      path: '/chat/stream',
      summary: 'Chat with an agent',
      schema: { ...exchange, body: ChatBody },
      handle: async (call) => {
        const { agent_id, session_id, message, background: isBackground = false } = call.body;
        const style = { mode: modeOf(call), isBackground };
        const chat = chatCallOf(call, session_id, call.headers);
        return answer(chats, call, await chats.stream(chat, agent_id, message, style), style.mode);
      },
    }),
    route({
      ...read,
      path: '/chat/stream',
      countsAsStream: () => true,
      failures: ['not-found'],
      summary:
        'Read a chat in the background from its beginning or from any event on, while it goes on and afterwards',
      description:
        'The newest of the session, or with `Last-Event-ID` the one that the event belongs to. 204 where all of it was read.',
      schema: {
        query: Type.Object({ ...ModeQuery.properties, session_id: SessionId }),
        headers: Type.Object({ ...ModeHeaders.properties, 'last-event-id': LastEventId }),
        responses: { 204: null },
        stream: ChatStream,
        answerHeaders: ToldSession,
      },
      handle: async (call) => {
        const mode = modeOf(call);
        const place = {
          sessionId: call.query.session_id,
          lastSeen: lastSeenOf(call.headers['last-event-id']),
        };
        const begun = await chats.readAgain(call.entities(), readerOf(call), place, mode);
        return begun === undefined ? reply.empty() : answer(chats, call, begun, mode);
      },
    }),
    route({
      ...streaming,
      path: '/chat/resume',
      summary: 'Go on with a chat that was paused',
      schema: { ...exchange, body: ResumeBody },
      handle: async (call) => {
        const { session_id, input, background: isBackground = false } = call.body;
        const style = { mode: modeOf(call), isBackground };
        const chat = chatCallOf(call, session_id, call.headers);
        return answer(chats, call, await chats.resume(chat, placeOf(call.body), input, style), style.mode);
      },
    }),
    route({
      ...read,
      path: '/chat/interrupt_state',
      failures: ['not-found'],
      summary: 'Read what a session waits for',
      schema: { query: Place, responses: { 200: InterruptState } },
      handle: async (call) => {
        const state = await chats.waiting(call.entities(), readerOf(call), placeOf(call.query));
        return state === undefined ? { interrupted: false } : { interrupted: true, state };
      },
    }),
    route({
      ...read,
      path: '/chat/interrupts',
      summary:
        'List open approvals and questions, newest first: your own, for administrators those of the tenant',
      description: 'A page is counted in sessions, as `total` is: those of a session come together.',
      schema: { query: pageQuery({ defaultLimit: 50 }), responses: { 200: WaitingList } },
      handle: async (call) => {
        const page = pageOf(call.query);
        const { states, total } = await chats.waitingAnywhere(call.entities(), readerOf(call), page);
        const interrupts = states.flatMap(({ interrupts, ...state }) =>
          interrupts.map((one) => ({ ...one, ...state })),
        );
        return { interrupts, total, ...page };
      },
    }),
    route({
      ...run,
      method: 'POST',
      path: '/chat/abort',
      failures: ['not-found'],
      summary: 'End the chat that is in flight in a session, in whichever replica, or drop what it waits for',
      schema: {
        body: Place,
        responses: { 200: Type.Object({ status: Type.Literal('aborted'), session_id: AnyId }) },
      },
      handle: async (call) => {
        const { session_id } = call.body;
        const isAborted = await chats.abort(call.entities(), readerOf(call), placeOf(call.body));
        if (!isAborted) throw SessionErrors.notFound('No chat is in flight in this session, and none waits');
        call.audit({ sessionId: session_id });
        return { status: 'aborted', session_id };
      },
    }),
  ];
}

function placeOf({ agent_id, session_id }: Static<typeof Place>) {
  return { agentId: agent_id, sessionId: session_id };
}

function lastSeenOf(id: string | undefined) {
  const [chatId, seq] = id?.split(':') ?? [];
  return chatId && seq ? { chatId, seq: Number(seq) } : undefined;
}

function modeOf(call: {
  readonly query: Static<typeof ModeQuery>;
  readonly headers: Static<typeof ModeHeaders>;
}): StreamMode {
  const isAsked = call.query.a2ui ?? call.headers['x-a2ui']?.toLowerCase() === 'true';
  return isAsked ? 'a2ui' : 'legacy';
}

function answer(chats: Chats, call: Call, { sessionId, send }: BegunChat, mode: StreamMode) {
  call.audit({ sessionId });
  return reply.sse(send, { [SESSION_HEADER]: sessionId }, mode === 'a2ui' ? chats.failure : undefined);
}
