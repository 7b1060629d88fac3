import { access, type Route, reply, route } from 'agent-gateway';
import type { ChatCompletions } from '../services/chat-completions.ts';
import { ChatCompletion, ChatCompletionRequest } from './schemas/chat-completion.ts';

/** Room for a few images inside the messages. */
const BODY_LIMIT = 16 * 1024 * 1024;

/** OpenAI's chat completions, plain and streamed (specification 1, Chat; decisions 1.6). */
export function chatCompletionsRoute(chat: ChatCompletions): Route {
  return route({
    method: 'POST',
    path: '/v1/chat/completions',
    access: access.role('user', { scopes: ['execute'] }),
    summary: 'Answer a conversation, as OpenAI does',
    description:
      'With `stream: true` the answer is `text/event-stream`: one `chat.completion.chunk` per event, then `[DONE]`. ' +
      'Members that are not listed reach the model provider untouched.',
    errors: 'openai',
    tag: 'chat',
    bodyLimit: BODY_LIMIT,
    countsAsStream: ({ body }) => body.stream === true,
    schema: { body: ChatCompletionRequest, responses: { 200: ChatCompletion } },
    handle: async (call) => {
      const context = {
        signal: call.signal,
        requestId: call.requestId,
        traceHeaders: call.traceHeaders(),
      };
      if (call.body.stream !== true) return chat.complete(call.body, context);
      const answer = await chat.stream(call.body, context);
      return reply.sse(answer);
    },
  });
}
