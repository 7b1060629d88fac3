import {
  AISDKError,
  APICallError,
  type LanguageModelV4,
  LoadAPIKeyError,
  type SharedV4Warning,
} from '@ai-sdk/provider';
import { causesOf, GatewayError, type Logger, messageOf, orAborted, parseRetryAfter } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ModelCallContext,
  ModelErrors,
} from '../../../contract.ts';
import { type Lifetime, startLifetime } from '../deadlines.ts';
import { type ConnectionOptions, connectionRules, type ProviderClient } from '../provider-connection.ts';
import { malformed, type Redact, statusFailure, streamFailure } from '../provider-errors.ts';
import { toCallOptions } from './call-options.ts';
import { createChunkTranslator } from './chunk-translator.ts';
import { type AnswerHead, toCompletion } from './completion.ts';
import { createProviderFetch, type ProviderFetch } from './provider-fetch.ts';

/** Settings and collaborators of a client for an AI SDK provider. */
export interface AISDKClientOptions extends ConnectionOptions {
  /** The connection's name (`anthropic`), on which options depend that only some providers know. */
  readonly provider: string;
  /** Makes the model, with the `fetch` that its provider has to use. Called once. Its errors are rethrown. */
  readonly createModel: (fetch: ProviderFetch) => LanguageModelV4;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Any provider of the AI SDK (version 4 of its language model interface) as a model client: requests and answers are
 * translated from and to OpenAI's format, and the connections are the gateway's own. What a provider cannot do is
 * logged once. `request.model` is only repeated in answers: the model is the one that was made.
 */
export function createAISDKClient(options: AISDKClientOptions): ProviderClient {
  const { provider, clock, ids, log, beforeCall } = options;
  const rules = connectionRules(options);
  const { timeouts, redact } = rules;
  const connections = createProviderFetch(rules);
  const model = options.createModel(connections.fetch);
  const newId = () => `call_${ids.opaque()}`;
  const warn = createWarningLog(log, `${provider}/${model.modelId}`, redact);

  async function prepare(request: ChatRequest, context: ModelCallContext, { signal }: Lifetime) {
    const { options: translated, warnings } = toCallOptions(request, provider, await model.supportedUrls);
    warn(warnings);
    const headers = { ...context.traceHeaders, 'x-request-id': context.requestId };
    return { ...translated, headers, abortSignal: signal };
  }

  function headOf(request: ChatRequest): AnswerHead {
    const created = Math.floor(clock.now() / 1000);
    return { id: `chatcmpl-${ids.opaque()}`, created, model: request.model };
  }

  /**
   * The error to throw for what went wrong: after an abort the reason of the signal, no matter what the package threw.
   */
  function failure(error: unknown, { signal }: Lifetime): unknown {
    return signal.aborted ? signal.reason : toModelError(error, redact, clock.now());
  }

  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    beforeCall?.();
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    using _ = connections.begin(lifetime, undefined);
    try {
      lifetime.signal.throwIfAborted();
      const prepared = await prepare(request, context, lifetime);
      const result = await orAborted(model.doGenerate(prepared), lifetime.signal);
      warn(result.warnings);
      return toCompletion(result, headOf(request), newId);
    } catch (error) {
      throw failure(error, lifetime);
    }
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    beforeCall?.();
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    using _ = connections.begin(lifetime, timeouts.firstByteMs);
    const translator = createChunkTranslator(headOf(request), newId);
    try {
      lifetime.signal.throwIfAborted();
      const prepared = await prepare(request, context, lifetime);
      const answer = await orAborted(model.doStream(prepared), lifetime.signal);
      for await (const part of answer.stream) {
        if (part.type === 'error') throw toStreamError(part.error, redact, clock.now());
        if (part.type === 'stream-start') warn(part.warnings as SharedV4Warning[]);
        for (const chunk of translator.push(part)) {
          lifetime.signal.throwIfAborted();
          yield chunk;
        }
      }
      lifetime.signal.throwIfAborted();
      translator.end();
    } catch (error) {
      throw failure(error, lifetime);
    }
  }

  return { complete, stream, [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose]() };
}

/**
 * Errors of adapters for requests that their provider could never take. Reported to the caller, which can change the
 * request.
 */
const CALLERS_MISTAKES = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidMessageRoleError',
  'AI_InvalidPromptError',
  'AI_UnsupportedFunctionalityError',
]);

/**
 * What an AI SDK provider has thrown, as an error of the catalogue: our own connection's error that it wraps, the
 * status that it names, a request that it cannot send, or else a failure of the provider. Its words go, sanitized, into
 * `cause`; only those about the request itself reach the caller.
 *
 * @param now Unix milliseconds, for a `Retry-After` that is a date
 */
export function toModelError(error: unknown, redact: Redact, now: number): GatewayError {
  const own = findOwn(error);
  if (own !== undefined) return own;
  if (APICallError.isInstance(error)) return callFailure(error, redact, now);
  const words = redact(error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error));
  if (LoadAPIKeyError.isInstance(error)) {
    const cause = new Error(words);
    return ModelErrors.upstream('The gateway has no key for the model provider.', {
      cause,
      retryable: false,
    });
  }
  if (AISDKError.isInstance(error) && CALLERS_MISTAKES.has(error.name)) {
    const detail = `The model provider cannot be asked this: ${redact(error.message)}`;
    return ModelErrors.rejected(detail, { retryable: false });
  }
  return ModelErrors.upstream(undefined, { cause: new Error(words) });
}

/** The error for an `error` part of a stream, which providers fill with anything. */
export function toStreamError(error: unknown, redact: Redact, now: number): GatewayError {
  return error instanceof Error ? toModelError(error, redact, now) : streamFailure(error, redact);
}

function callFailure(error: APICallError, redact: Redact, now: number): GatewayError {
  const { statusCode: status = 0, responseHeaders: headers = {} } = error;
  // An error with a status of success means that the adapter could not read the answer.
  if (status < 300) return malformed('the adapter could not read it');
  const body = error.responseBody ?? JSON.stringify({ error: { message: error.message } });
  return statusFailure({ status, headers }, body, parseRetryAfter(headers['retry-after'], now), redact);
}

function findOwn(error: unknown): GatewayError | undefined {
  // The AI SDK wraps what its `fetch` throws once or twice.
  return causesOf(error).find((cause) => cause instanceof GatewayError);
}

/** Callers choose some of the names in warnings: after so many different ones no more are logged. */
const MOST_LOGGED = 50;

/** A function that logs what a model's provider does not do: each thing once, for as long as the model lives. */
export function createWarningLog(
  log: Pick<Logger, 'warn'>,
  model: string,
  redact: Redact,
): (warnings: readonly SharedV4Warning[]) => void {
  const logged = new Set<string>();
  return (warnings) => {
    for (const warning of warnings) {
      const text = redact(textOf(warning));
      if (logged.has(text) || logged.size >= MOST_LOGGED) continue;
      logged.add(text);
      log.warn({ model, warning: text }, 'the model provider does not do everything that it is asked');
    }
  };
}

function textOf(warning: SharedV4Warning): string {
  switch (warning.type) {
    case 'unsupported':
    case 'compatibility':
      return `${warning.type}: ${warning.feature}${warning.details === undefined ? '' : ` (${warning.details})`}`;
    case 'deprecated':
      return `deprecated: ${warning.setting} (${warning.message})`;
    default:
      return warning.message;
  }
}
