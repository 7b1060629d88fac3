import { access, type Call, type Route, refusing, reply, route } from 'agent-gateway';
import type { Static } from 'typebox';
import { type ChatCall, type ChatContext, chatCallOf } from '../../agent-engine/contract.ts';
import type { AgentChat } from '../services/chat/agent-chat.ts';
import type { Answered, SendAnswer } from '../services/chat/chat-call.ts';
import type { ChatCompletions } from '../services/chat/chat-completions.ts';
import { clientToolProblems, requestProblems } from '../services/chat/request-problems.ts';
import {
  AgentChatRequest,
  AgentCompletion,
  ChatCompletion,
  ChatCompletionRequest,
  ChatCompletionStream,
  SESSION_HEADER,
  SessionHeaders,
  ToldSession,
} from './chat-schemas.ts';

/** Room for a few images inside the messages. */
const BODY_LIMIT = 16 * 1024 * 1024;

const common = {
  method: 'POST',
  access: access.role('user', { scopes: ['execute'] }),
  errors: 'openai',
  tag: 'chat',
  bodyLimit: BODY_LIMIT,
  // The model or the session is not found, or the provider fails.
  failures: ['not-found', 'upstream'],
} as const;

/** Chats, plain and streamed (specification 1, Chat; decisions 1.6). */
export function chatRoutes(chat: ChatCompletions, agentChat: AgentChat): readonly Route[] {
  return [
    route({
      ...common,
      path: '/v1/chat/completions',
      summary: 'Answer a conversation, as OpenAI does',
      description:
        'With `stream: true` the answer is `text/event-stream`: one `chat.completion.chunk` per event, then `[DONE]`. ' +
        'Members that are not listed reach the model provider untouched.',
      countsAsStream: ({ body }) => body.stream === true,
      schema: {
        headers: SessionHeaders,
        body: ChatCompletionRequest,
        responses: { 200: ChatCompletion },
        stream: ChatCompletionStream,
        answerHeaders: ToldSession,
      },
      refuse: refusing(requestProblems),
      handle: (call) => answer(chat, call, call.tenant.chatContext),
    }),
    route({
      ...common,
      path: '/v1/agent/chat',
      summary: 'Have an agent answer a conversation, with tools that run in the gateway',
      description:
        'Like `/v1/chat/completions`; calls of the tools in `tools` are handed to the client, all others run here. With ' +
        '`include_agentic_blocks` the steps are sent too: in `agentic_blocks`, or as events of that name.',
      countsAsStream: ({ body }) => body.stream === true,
      schema: {
        headers: SessionHeaders,
        body: AgentChatRequest,
        responses: { 200: AgentCompletion },
        stream: ChatCompletionStream,
        answerHeaders: ToldSession,
      },
      refuse: refusing((body) => [...requestProblems(body), ...clientToolProblems(body.tools)]),
      handle: (call) => answer(agentChat, call, 'full'),
    }),
  ];
}

interface ChatService<B> {
  complete(body: B, call: ChatCall): Promise<Answered<object>>;
  stream(body: B, call: ChatCall): Promise<Answered<SendAnswer>>;
}

/**
 * The answer of a service, plain or streamed, with the session in its headers; `usual` is the context where the request
 * says nothing.
 */
async function answer<B extends { readonly stream?: boolean | null }>(
  service: ChatService<B>,
  call: Call & { readonly body: B; readonly headers: Static<typeof SessionHeaders> },
  usual: ChatContext,
) {
  const { body } = call;
  const { 'x-svc-context': context = usual, 'x-svc-task-class': taskClass } = call.headers;
  const chatCall = chatCallOf(call, call.headers[SESSION_HEADER], {
    'x-svc-context': context,
    'x-svc-task-class': taskClass,
  });
  if (body.stream === true) {
    const begun = await service.stream(body, chatCall);
    return reply.sse(begun.answer, reportSession(call, begun.sessionId));
  }
  const whole = await service.complete(body, chatCall);
  return reply.json(200, whole.answer, reportSession(call, whole.sessionId));
}

/** The session in the answer's header and in the audit record. */
function reportSession(call: Call, sessionId: string | undefined): Record<string, string> {
  if (sessionId === undefined) return {};
  call.audit({ sessionId });
  return { [SESSION_HEADER]: sessionId };
}
