import { defineErrors, serviceRef } from 'agent-gateway';
import type { ChatMessage, ChatRole, Embeddings, ToolDefinition, Usage } from '../../records/contract.ts';

/*
 * The model port. Its types are OpenAI's chat completion wire format, snake_case included: it is the language of the
 * clients and of most providers, so the hot path hands chunks on without translating them.
 * Source: https://platform.openai.com/docs/api-reference/chat
 */

/** Whether and which tool the model has to call. */
export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } };

/** The form of the answer. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly schema?: Readonly<Record<string, unknown>>;
        readonly strict?: boolean | null;
        readonly description?: string;
      };
    };

/** What is asked of a model. Members that are not named here reach the provider untouched. */
export interface ChatRequest {
  /** The alias that the caller asked for; `Model` puts the provider's own name in its place. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  /** The older name of `max_completion_tokens`. */
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly stop?: string | readonly string[] | null;
  /** One answer per request is all that the gateway supports. */
  readonly n?: 1 | null;
  readonly tools?: readonly ToolDefinition[];
  readonly tool_choice?: ToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: ResponseFormat;
  readonly seed?: number | null;
  readonly user?: string;
  /** `stream` decides the reply of the gateway; a client of the port chooses by calling `complete` or `stream`. */
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean; readonly [extra: string]: unknown } | null;
  readonly [extra: string]: unknown;
}

/** Why the model stopped. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | (string & {});

/** A whole answer. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
  /** At least one. */
  readonly choices: readonly {
    readonly index: number;
    readonly message: ChatMessage & { readonly refusal?: string | null };
    readonly finish_reason: FinishReason;
    readonly [extra: string]: unknown;
  }[];
  readonly usage?: Usage | null;
  readonly [extra: string]: unknown;
}

/**
 * A piece of a tool call inside a stream; pieces of one `index` are joined, `arguments` by concatenation. Whoever reads
 * a stream of the port finds each call at an index of its own, with an id of its own in its first piece, whatever the
 * provider wrote.
 */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function?: { readonly name?: string; readonly arguments?: string };
  /** As in `ToolCall`; whole, in any one piece. */
  readonly extra_content?: Readonly<Record<string, unknown>>;
}

/** What one chunk adds to the answer. */
export interface ChatDelta {
  readonly role?: ChatRole;
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ToolCallDelta[];
  /** The next piece of what the model thinks, where the provider shows it. */
  readonly reasoning_content?: string | null;
  /** As in `ChatMessage`; whole, in one chunk before the finish reason. */
  readonly reasoning_details?: readonly unknown[];
  readonly [extra: string]: unknown;
}

/** One event of a streamed answer. */
export interface ChatChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
  /** Empty on the usage chunk, and on a provider's own notices. */
  readonly choices: readonly {
    readonly index: number;
    readonly delta: ChatDelta;
    readonly finish_reason?: FinishReason | null;
    readonly [extra: string]: unknown;
  }[];
  /** Set on the last chunk of a provider that meters. */
  readonly usage?: Usage | null;
  readonly [extra: string]: unknown;
}

/** Everything about a call that is not the question itself. */
export interface ModelCallContext {
  /** Aborting it cancels the call at the provider at once; the call then fails with `model.aborted`. */
  readonly signal: AbortSignal;
  /** Whose call it is: where the failures are those of one tenant alone, the provider is left alone for it alone. */
  readonly tenantId?: string | undefined;
  /** Sent to the provider as `x-request-id`, so that both sides' logs can be joined. */
  readonly requestId: string;
  /** W3C trace context headers (`traceparent`, `tracestate`) of the current span. */
  readonly traceHeaders?: Readonly<Record<string, string>>;
  /**
   * Called once with the model that really answers, which may be a fallback, before the first chunk or the completion
   * is returned. Not called if the call fails before that. Must not throw.
   */
  readonly answeredBy?: (info: ModelInfo) => void;
}

/**
 * A connection to models. Both verbs throw errors of `ModelErrors` only, and must not be called inside a database
 * transaction.
 */
export interface ModelClient {
  /** The whole answer at once. It always has a choice with a message and a `finish_reason`. */
  complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion>;
  /**
   * The answer as it is made. Nothing is sent before the first `next()`; what is not asked for is not read from the
   * provider; leaving the loop cancels the call. Ends normally only when a `finish_reason` has been delivered. The
   * usage chunk (`choices: []`) is part of the stream whether or not the client asked for it: the caller decides who
   * sees it.
   */
  stream(request: ChatRequest, context: ModelCallContext): AsyncIterable<ChatChunk>;
}

/** What `GET /v1/models` returns about an alias. */
export interface ModelInfo {
  /** The alias, the name that clients use. */
  readonly id: string;
  /** The kind of connection: `openai`, `anthropic`, `google`, `demo`, or the name of another provider's package. */
  readonly provider: string;
  /** The name that the provider is asked for. */
  readonly model: string;
  readonly owned_by: string;
  /** Unix time in seconds at which the alias was defined. */
  readonly created: number;
  /** Tokens that fit into a conversation, where the deployment says so. */
  readonly context_length?: number;
  /** What it can do, in the deployment's words. */
  readonly capabilities?: readonly string[];
}

/** A model behind an alias. Its verbs replace `request.model` by the provider's name. */
export interface Model extends ModelClient {
  readonly info: ModelInfo;
}

/** The models of this deployment. */
export interface Models {
  /** Every alias, `default` first. */
  list(): readonly ModelInfo[];
  /** The model behind an alias. Throws `model_not_found`. */
  resolve(alias: string): Model;
}

/** What can go wrong with a model call. No entry's text ever holds a provider's body, address or key. */
export const ModelErrors = defineErrors({
  /** The alias is unknown. The code is OpenAI's own spelling, which client libraries look for. */
  notFound: { code: 'model_not_found', kind: 'not-found', title: 'There is no such model' },
  /** The provider answered 400: the request itself is wrong. Carries the provider's sentence, sanitized and capped. */
  rejected: { code: 'model.rejected', kind: 'invalid', title: 'The model provider rejected the request' },
  /**
   * A rejection with a code that clients know, like the next two: the conversation does not fit into the model's
   * window.
   */
  contextLengthExceeded: {
    code: 'context_length_exceeded',
    kind: 'invalid',
    title: 'The conversation is too long for the model',
  },
  /** The provider's filter refused the request. */
  contentFilter: {
    code: 'content_filter',
    kind: 'invalid',
    title: "The model provider's filter refused the request",
  },
  /** The provider answered 429 because the deployment has used up what it paid for: trying again is of no use. */
  insufficientQuota: {
    code: 'insufficient_quota',
    kind: 'rate-limited',
    title: 'The quota at the model provider is used up',
  },
  /** The provider answered 429, also after retries. Carries `retry-after`. */
  rateLimited: {
    code: 'model.rate-limited',
    kind: 'rate-limited',
    title: 'The model provider limits the rate of requests',
  },
  /** The provider does not know the configured model's name: a mistake in the configuration, not in the request. */
  unknownToProvider: {
    code: 'model.unknown-to-provider',
    kind: 'upstream',
    title: 'The model provider does not know the model',
  },
  /** The provider failed, refused the gateway's credential, or answered something that is not a chat completion. */
  upstream: { code: 'model.upstream', kind: 'upstream', title: 'The model provider failed' },
  /** A deadline passed: connecting, first byte, silence inside a stream, or the whole call. */
  timeout: { code: 'model.timeout', kind: 'upstream', title: 'The model provider did not answer in time' },
  /** The caller's signal was aborted. */
  aborted: { code: 'model.aborted', kind: 'client-closed', title: 'The model call was aborted' },
  /** More calls are waiting for a connection to the provider than the gateway is willing to queue. */
  overloaded: {
    code: 'model.overloaded',
    kind: 'unavailable',
    title: 'Too many model calls are waiting',
  },
  /** A plugin's provider is named, and no plugin that runs contributes it. */
  providerMissing: {
    code: 'model.provider-missing',
    kind: 'unavailable',
    title: 'No plugin offers the provider of the model now',
  },
  /** The model's key is in a secret store that does not return it. Nothing was sent. */
  keyUnavailable: {
    code: 'model.key-unavailable',
    kind: 'unavailable',
    title: 'The key of the model cannot be read now',
  },
  /** The provider failed too often in a row and is left alone for a while. Nothing was sent. Carries `retry-after`. */
  unavailable: {
    code: 'model.circuit-open',
    kind: 'unavailable',
    title: 'The model provider is not asked at the moment, since it failed several times in a row',
  },
});

/** The models of the deployment, for plugins that call them. */
export const ModelsRef = serviceRef<Models>('agent-engine.models');

/**
 * The embeddings of the deployment. What they throw is of `ModelErrors`. The built-in form is pure and never fails: it
 * sees words, not meaning.
 */
export const EmbeddingsRef = serviceRef<Embeddings>('agent-engine.embeddings');
