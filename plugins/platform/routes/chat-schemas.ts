import { nullable, Type } from 'agent-gateway';
import { CHAT_HEADERS, type ChatRequest } from '../../agent-engine/contract.ts';
import type { AgentClientRequest } from '../services/chat/agent-chat.ts';

/*
 * OpenAI's chat completion request: https://platform.openai.com/docs/api-reference/chat/create
 *
 * The schema checks what the gateway itself relies on, and what is wrong for every provider. Members that are not named
 * here pass: providers have too many of them to list.
 */

/** Messages in one request at most. */
const MAX_MESSAGES = 4096;
const MAX_TOOLS = 1024;
const MAX_PARTS = 1024;

/** Allows members that the gateway does not know. */
const OPEN = { additionalProperties: true } as const;
/** The same in requests, with a bound: what is copied on its way to the provider is copied member by member. */
const OPEN_REQUEST = { ...OPEN, maxProperties: 256 } as const;

/** A part of a message. */
export const ContentPart = Type.Object(
  {
    type: Type.String({ minLength: 1, description: 'text, image_url, input_audio, file …' }),
    text: Type.Optional(Type.String()),
  },
  OPEN_REQUEST,
);

/** A call of a tool. */
export const ToolCall = Type.Object(
  {
    id: Type.String(),
    type: Type.Optional(Type.String()),
    function: Type.Optional(Type.Object({ name: Type.String(), arguments: Type.String() }, OPEN_REQUEST)),
  },
  OPEN_REQUEST,
);

const Message = Type.Object(
  {
    role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(ContentPart, { maxItems: MAX_PARTS }), Type.Null()]),
    ),
    name: Type.Optional(nullable(Type.String())),
    tool_calls: Type.Optional(nullable(Type.Array(ToolCall, { maxItems: MAX_TOOLS }))),
    tool_call_id: Type.Optional(nullable(Type.String())),
  },
  OPEN_REQUEST,
);

const Tool = Type.Object(
  {
    type: Type.String({ minLength: 1 }),
    function: Type.Optional(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 256 }),
          description: Type.Optional(nullable(Type.String())),
          parameters: Type.Optional(Type.Unsafe({ type: ['object', 'null'], additionalProperties: true })),
          strict: Type.Optional(nullable(Type.Boolean())),
        },
        OPEN_REQUEST,
      ),
    ),
  },
  OPEN_REQUEST,
);

const MESSAGES = [{ role: 'user', content: 'Use the calculator: what is 17 * 23?' }];

/** The members that the gateway knows. */
const members = {
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
    Type.Union([Type.String(), Type.Object({ type: Type.String() }, OPEN_REQUEST), Type.Null()], {
      description: 'none, auto, required, or a tool',
    }),
  ),
  parallel_tool_calls: Type.Optional(nullable(Type.Boolean())),
  response_format: Type.Optional(nullable(Type.Object({ type: Type.String() }, OPEN_REQUEST))),
  seed: Type.Optional(nullable(Type.Integer())),
  user: Type.Optional(nullable(Type.String())),
  stream: Type.Optional(nullable(Type.Boolean())),
  stream_options: Type.Optional(
    nullable(Type.Object({ include_usage: Type.Optional(nullable(Type.Boolean())) }, OPEN_REQUEST)),
  ),
  store: Type.Optional(nullable(Type.Boolean())),
};

/** The body of a chat completion: the request of the model port, and `store`, which is meant for the gateway alone. */
export const ChatCompletionRequest = Type.Unsafe<ChatRequest & { readonly store?: boolean | null }>(
  Type.Object(members, { ...OPEN_REQUEST, examples: [{ model: 'default', messages: MESSAGES }] }),
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
  ...CHAT_HEADERS,
});

/** The header of an answer that holds its session's id. */
export const ToldSession = Type.Object({
  [SESSION_HEADER]: Type.Optional(
    Type.String({ description: 'The session of this turn, for the next one; absent with `store: false`' }),
  ),
});

const Usage = Type.Object(
  {
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
    estimated: Type.Optional(Type.Boolean({ description: 'True where the provider did not count' })),
  },
  { ...OPEN, examples: [{ prompt_tokens: 671, completion_tokens: 37, total_tokens: 708 }] },
);

/** The members of every answer, whole or in chunks. */
const COMPLETION = {
  id: 'chatcmpl-01a209b6-2856-70ab-a07b-16cee9142d20',
  created: 1_795_459_262,
  model: 'default',
};

/** The answer to a request without `stream`. Choices and messages have any further members of the provider's. */
export const ChatCompletion = Type.Object(
  {
    id: Type.String({ examples: [COMPLETION.id] }),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix time in seconds', examples: [COMPLETION.created] }),
    model: Type.String({ description: 'As it was asked for', examples: [COMPLETION.model] }),
    choices: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ examples: [0] }),
          message: Type.Object(
            {
              role: Type.String({ examples: ['assistant'] }),
              content: nullable(Type.String({ examples: ['17 * 23 is 391.'] })),
              tool_calls: Type.Optional(
                Type.Array(ToolCall, { description: 'Of tools of the request, for the client to call' }),
              ),
            },
            OPEN,
          ),
          finish_reason: Type.String({ description: 'stop, length, tool_calls …', examples: ['stop'] }),
        },
        OPEN,
      ),
    ),
    usage: Type.Optional(Usage),
  },
  OPEN,
);

const chunk = (delta: object, finish_reason: string | null = null) => {
  const { id, ...rest } = COMPLETION;
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', ...rest, choices })}\n\n`;
};

/** The answer to a request with `stream`. */
export const ChatCompletionStream = Type.String({
  description:
    'Server-sent events with one `chat.completion.chunk` each, and `[DONE]`; `error` with the error',
  examples: [
    `${chunk({ role: 'assistant', content: '17 * 23' })}${chunk({ content: ' is 391.' })}${chunk({}, 'stop')}data: [DONE]\n\n`,
  ],
});

/** The body of an agent chat: that of a chat completion, and what is meant for the agent. */
export const AgentChatRequest = Type.Unsafe<AgentClientRequest>(
  Type.Object(
    {
      ...members,
      model: Type.Optional({
        ...members.model,
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
    },
    { ...OPEN_REQUEST, examples: [{ messages: MESSAGES, include_agentic_blocks: true }] },
  ),
);

const CALL = { call_id: 'call_f6ca8579-a8f0-4a2f-9c68-ee92bf4f62aa', name: 'calculator' };
const BLOCKS = [
  { type: 'function_tool_call', data: { ...CALL, arguments: '{"expression":"17 * 23"}' } },
  { type: 'function_tool_result', data: { ...CALL, content: '391' } },
];
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
export const AgentCompletion = Type.Object(
  {
    ...ChatCompletion.properties,
    agentic_blocks: Type.Optional(Type.Array(AgenticBlock, { examples: [BLOCKS] })),
  },
  OPEN,
);
