import Type from 'typebox';
import type { AgentClientRequest } from '../../services/chat/agent-chat.ts';
import { ChatCompletion, RequestSchema } from './chat-completion.ts';
import { nullable } from './common.ts';

const { model, ...members } = RequestSchema.properties;

/** The body of an agent chat: that of a chat completion, and what is meant for the agent. */
export const AgentChatRequest = Type.Unsafe<AgentClientRequest>(
  Type.Object({
    ...members,
    model: Type.Optional({
      ...model,
      description: 'An alias of GET /v1/models; absent: the agent’s own, or `default`',
    }),
    agent: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        description: 'An agent of agents.d; absent: one with every tool',
      }),
    ),
    include_agentic_blocks: Type.Optional(nullable(Type.Boolean({ description: 'Tell the steps too' }))),
  }),
);

const AgenticBlock = Type.Object({
  type: Type.Enum([
    'reasoning',
    'user_input_text',
    'assistant_gen_text',
    'function_tool_call',
    'function_tool_result',
  ]),
  data: Type.Record(Type.String(), Type.String()),
});

/** The answer to a request without `stream`. */
export const AgentCompletion = Type.Object({
  ...ChatCompletion.properties,
  agentic_blocks: Type.Optional(Type.Array(AgenticBlock)),
});
