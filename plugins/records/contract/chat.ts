/*
 * The messages of a conversation, in OpenAI's chat completion wire format, snake_case included: it is the language of
 * the clients and of most providers, so messages are kept as they were sent. The calls of models are in the contract of
 * agent-engine. Source: https://platform.openai.com/docs/api-reference/chat
 */

/** Who speaks. Providers know more names than these; unknown ones are handed on. */
export type ChatRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool' | (string & {});

/** One part of a message that is not plain text alone (`text`, `image_url`, `input_audio`, …). */
export interface ContentPart {
  readonly type: string;
  /** Set where `type` is `text`. */
  readonly text?: string;
  readonly [extra: string]: unknown;
}

/** A call of a tool that the model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    /** JSON text, written by the model: parse and validate it before use. */
    readonly arguments: string;
  };
  /** What the provider wants back with the call (signatures, by provider). Opaque: keep it as it came. */
  readonly extra_content?: Readonly<Record<string, unknown>>;
}

/** One turn of the conversation. */
export interface ChatMessage {
  readonly role: ChatRole;
  /** Absent or null where the message carries only tool calls. */
  readonly content?: string | readonly ContentPart[] | null;
  readonly name?: string;
  /** On role `assistant`: the calls that the next `tool` messages answer. */
  readonly tool_calls?: readonly ToolCall[];
  /** On role `tool`: the call that this message answers. */
  readonly tool_call_id?: string;
  /**
   * On role `assistant`: thoughts that the provider signed and wants back with the message. Opaque: keep them as they
   * came.
   */
  readonly reasoning_details?: readonly unknown[];
  readonly [extra: string]: unknown;
}

/** A tool that the model may call. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** JSON Schema of the arguments object; absent means no arguments. */
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean | null;
  };
}

/** What a call consumed, in the provider's tokens. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: {
    /** The part of `prompt_tokens` that was read from the provider's cache. */
    readonly cached_tokens?: number;
    /** The part of `prompt_tokens` that was written to the provider's cache, where it bills that. */
    readonly cache_write_tokens?: number;
    readonly [extra: string]: unknown;
  } | null;
  readonly completion_tokens_details?: {
    readonly reasoning_tokens?: number;
    readonly [extra: string]: unknown;
  } | null;
}
