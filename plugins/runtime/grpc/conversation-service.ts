import {
  access,
  type GrpcCall,
  type GrpcMessage,
  type GrpcService,
  grpcMethod,
  grpcService,
  KernelErrors,
  redactText,
  Type,
} from 'agent-gateway';
import { agentFailure, type ChatContext, chatCallOf, TASK_CLASS } from '../../agent-engine/contract.ts';
import { principalOf, readerOf } from '../../records/contract.ts';
import type { Chats } from '../services/chat/chats.ts';
import { sendTurn } from '../services/chat/send-turn.ts';
import type { ConversationRecord, Conversations } from '../services/conversations.ts';
import { chatResponses } from './chat-events.ts';
import { listEnd, listRequest, message, pageOf } from './common.ts';

const ChatRequest = Type.Object({
  session_id: Type.String({
    pattern: '^[A-Za-z0-9._-]{0,128}$',
    patternErrorMessage: 'must have at most 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"',
  }),
  message: Type.String({ minLength: 1, maxLength: 1_000_000 }),
  extra: Type.Optional(
    Type.Object({ agent_name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) }),
  ),
});

const MetaData = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 64 });

const read = { access: access.open(['read']), effect: 'read' } as const;

/**
 * `svc.conversation.v1.ConversationService`: chats and conversations, as `/api/v2` has them (specification 3; decisions
 * 3.4).
 */
export function conversationService(chats: Chats, conversations: Conversations): GrpcService {
  return grpcService({
    lazy: true,
    proto: new URL('../proto/svc/conversation/v1/conversation.proto', import.meta.url),
    service: 'svc.conversation.v1.ConversationService',
    methods: {
      Chat: grpcMethod({
        access: access.open(['execute']),
        effect: 'execute',
        countsAsStream: true,
        summary: 'Chat with an agent',
        request: ChatRequest,
        handle: (call) => chat(chats, call, call.request.extra?.agent_name),
      }),
      CreateConversation: grpcMethod({
        access: access.open(['write']),
        summary: 'Begin a conversation with an agent',
        request: Type.Object({
          bot_id: Type.String({ minLength: 1, maxLength: 128 }),
          title: Type.String({ maxLength: 500 }),
          meta_data: Type.Optional(MetaData),
        }),
        handle: async (call) => {
          const { bot_id: botId, title, meta_data: metaData } = call.request;
          const given = { botId, title, metaData };
          return one(await conversations.create(call.entities(), principalOf(call), given));
        },
      }),
      GetConversation: grpcMethod({
        ...read,
        summary: 'Read a conversation',
        request: Type.Object({ id: Type.String({ minLength: 1 }) }),
        handle: async (call) =>
          one(await conversations.get(call.entities(), readerOf(call), call.request.id)),
      }),
      ListConversations: grpcMethod({
        ...read,
        summary: 'List conversations, newest first',
        request: Type.Object({ ...listRequest, bot_id: Type.String({ maxLength: 128 }) }),
        handle: async (call) => {
          const { bot_id, keyword } = call.request;
          const page = pageOf(call.request);
          const asked = { ...page, botId: bot_id || undefined, keyword: keyword || undefined };
          const found = await conversations.list(call.entities(), readerOf(call), asked);
          return message({
            conversations: found.conversations.map(onWire),
            ...listEnd(page, found.conversations.length, found.total),
          });
        },
      }),
    },
  });
}

/** Runs a chat. One that fails after it began sends an event `error`, and then the status. */
async function chat(chats: Chats, call: GrpcCall, agent: string | undefined): Promise<void> {
  const sessionId: string = call.request.session_id;
  await using turn = await chats.begin(
    chatCallOf(call, sessionId || undefined, headersOf(call)),
    agent,
    call.request.message,
  );
  const id = turn.sessionId ?? '';
  call.header('x-svc-session-id', id);
  call.audit({ sessionId: id });
  try {
    await sendTurn(turn, async (event) => {
      for (const response of chatResponses(event, id)) await call.send(message(response));
    });
  } catch (thrown) {
    // A caller that has disconnected, or whose deadline has expired, receives nothing.
    if (call.signal.aborted) throw thrown;
    const failure = agentFailure(thrown);
    const error = { code: failure.code, message: redactText(failure.detail) };
    await call.send(message({ event_type: 'error', error }));
    throw failure;
  }
}

/** The headers of HTTP, read from the metadata. */
function headersOf(call: GrpcCall) {
  const context = call.metadata('x-svc-context') ?? 'full';
  const taskClass = call.metadata('x-svc-task-class');
  const isNamed = taskClass === undefined || new RegExp(TASK_CLASS).test(taskClass);
  if (isContext(context) && isNamed) return { 'x-svc-context': context, 'x-svc-task-class': taskClass };
  const errors = [];
  if (!isContext(context))
    errors.push({ pointer: '/metadata/x-svc-context', message: 'must be full or none' });
  if (!isNamed) {
    const message = 'must have 1 to 64 of the characters a-z 0-9 -';
    errors.push({ pointer: '/metadata/x-svc-task-class', message });
  }
  throw KernelErrors.invalidRequest(undefined, { errors });
}

function isContext(value: string): value is ChatContext {
  return value === 'full' || value === 'none';
}

function one(conversation: ConversationRecord): GrpcMessage {
  return message({ conversation: onWire(conversation) });
}

function onWire(conversation: ConversationRecord): GrpcMessage {
  const { id, botId, title, userId, metaData, createdAt, updatedAt } = conversation;
  return {
    id,
    title,
    bot_id: botId,
    user_id: userId,
    meta_data: metaData,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
