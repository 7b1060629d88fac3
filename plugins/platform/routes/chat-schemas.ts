import { Type } from 'agent-gateway';
import { type ChatRequest, CONTEXT_HEADER } from '../../agent-engine/contract.ts';
import type { AgentClientRequest } from '../services/chat/agent-chat.ts';
import { nullable } from './common.ts';

/*
 * OpenAI's chat completion request: https://platform.openai.com/docs/api-reference/chat/create
 *
 * Checked is what the gateway itself relies on, and what is wrong for every provider. Members that are not named here
 * pass: providers have more of them than anybody could list.
 */

/** Messages in one request at most. */
const MAX_MESSAGES = 4096;
const MAX_TOOLS = 1024;
const MAX_PARTS = 1024;

const ContentPart = Type.Object({
  type: Type.String({ minLength: 1, description: 'text, image_url, input_audio, file …' }),
  text: Type.Optional(Type.String()),
});

const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Optional(Type.String()),
  function: Type.Optional(Type.Object({ name: Type.String(), arguments: Type.String() })),
});

const Message = Type.Object({
  role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: Type.Optional(
    Type.Union([Type.String(), Type.Array(ContentPart, { maxItems: MAX_PARTS }), Type.Null()]),
  ),
  name: Type.Optional(nullable(Type.String())),
  tool_calls: Type.Optional(nullable(Type.Array(ToolCall, { maxItems: MAX_TOOLS }))),
  tool_call_id: Type.Optional(nullable(Type.String())),
});

const Tool = Type.Object({
  type: Type.String({ minLength: 1 }),
  function: Type.Optional(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 256 }),
      description: Type.Optional(nullable(Type.String())),
      parameters: Type.Optional(Type.Unsafe({ type: ['object', 'null'] })),
      strict: Type.Optional(nullable(Type.Boolean())),
    }),
  ),
});

/** The members that the gateway knows. */
const RequestSchema = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 512, description: 'An alias of GET /v1/models' }),
  messages: Type.Array(Message, { minItems: 1, maxItems: MAX_MESSAGES }),
  temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 2 }))),
  top_p: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  max_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1 }))),
  max_completion_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1 }))),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 64 }), Type.Null()])),
  n: Type.Optional(Type.Unsafe({ enum: [1, null], description: 'One answer per request' })),
  tools: Type.Optional(nullable(Type.Array(Tool, { maxItems: MAX_TOOLS }))),
  tool_choice: Type.Optional(
    Type.Union([Type.String(), Type.Object({ type: Type.String() }), Type.Null()], {
      description: 'none, auto, required, or a tool',
    }),
  ),
  parallel_tool_calls: Type.Optional(nullable(Type.Boolean())),
  response_format: Type.Optional(nullable(Type.Object({ type: Type.String() }))),
  seed: Type.Optional(nullable(Type.Integer())),
  user: Type.Optional(nullable(Type.String())),
  stream: Type.Optional(nullable(Type.Boolean())),
  stream_options: Type.Optional(
    nullable(Type.Object({ include_usage: Type.Optional(nullable(Type.Boolean())) })),
  ),
  store: Type.Optional(nullable(Type.Boolean())),
});

/** The body of a chat completion: what the model port takes, and what is meant for the gateway alone. */
export const ChatCompletionRequest = Type.Unsafe<ChatRequest & { readonly store?: boolean | null }>(
  RequestSchema,
);

/** Lower-case name of the header that carries the session's id, both ways. */
export const SESSION_HEADER = 'x-svc-session-id';

/** The headers of a chat. */
export const SessionHeaders = Type.Object({
  [SESSION_HEADER]: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._-]{1,128}$',
      patternErrorMessage: 'must have 1 to 128 of the characters A-Z a-z 0-9 . _ -',
      description: 'The session to go on with, or the name of a new one; absent: a new session',
    }),
  ),
  ...CONTEXT_HEADER,
});

/** The header that tells the session of an answer. */
export const ToldSession = Type.Object({
  [SESSION_HEADER]: Type.Optional(
    Type.String({ description: 'The session of this turn, for the next one; absent with `store: false`' }),
  ),
});

const Usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  estimated: Type.Optional(Type.Boolean({ description: 'True where the provider did not count' })),
});

/** The answer to a request without `stream`. */
export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer({ description: 'Unix time in seconds' }),
  model: Type.String({ description: 'As it was asked for' }),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({ role: Type.String(), content: nullable(Type.String()) }),
      finish_reason: Type.String(),
    }),
  ),
  usage: Type.Optional(Usage),
});

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
