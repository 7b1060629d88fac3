import type { Clock, Ids } from 'agent-gateway';
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  ModelCallContext,
  ModelClient,
} from '../../contract.ts';
import { DEFAULT_TIMEOUTS, startLifetime, type Timeouts } from './deadlines.ts';
import { createChunkDecoder, parseCompletion } from './openai-answer.ts';
import { createProviderConnection } from './provider-connection.ts';
import { createRedact, malformed } from './provider-errors.ts';
import { DEFAULT_RETRY, type RetrySettings } from './retry.ts';

/** How much a provider may make the gateway hold in memory. */
interface AnswerLimits {
  /** The body of a plain answer, in bytes. Default 32 MiB. */
  readonly answerBytes: number;
  /** One event of a stream, in characters. Default 1,048,576. */
  readonly eventChars: number;
  /** What is read of an error's body, in bytes. Default 8 KiB. */
  readonly errorBytes: number;
}

const DEFAULT_LIMITS: AnswerLimits = { answerBytes: 32 << 20, eventChars: 1 << 20, errorBytes: 8 << 10 };

/** Settings and collaborators of an OpenAI-compatible client. */
export interface OpenAIClientOptions {
  /** The base URL to which `/chat/completions` is appended. */
  readonly apiUrl: string;
  /** Sent as a bearer token; absent for servers that need none. */
  readonly apiKey?: string;
  /** Ask for usage in streams (`stream_options`). Default true; false for servers that refuse it, which are not metered then. */
  readonly includeUsage?: boolean;
  /** Connections to the provider, each of which carries one call at a time. Default 1,024. */
  readonly connections?: number;
  /** Calls that may wait for a connection; more fail with `model.overloaded`. Default 1,024. */
  readonly maxWaiting?: number;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetrySettings>;
  readonly limits?: Partial<AnswerLimits>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes'>;
  /** Called before each request goes out; throws where no outbound call may be made (inside a database transaction). */
  readonly beforeCall?: () => void;
}

/** A client with a pool of connections to one server. Disposing it breaks the calls that are still in flight. */
export interface OpenAIClient extends ModelClient, AsyncDisposable {}

/**
 * A client for any server that speaks OpenAI's chat completions: pooled, streaming, abortable, with deadlines and
 * retries. `request.model` has to be the provider's own name. Throws a TypeError for a URL or key that cannot work.
 *
 * @example
 * await using client = createOpenAIClient({ apiUrl: 'https://api.openai.com/v1', apiKey, clock, ids });
 * for await (const chunk of client.stream(request, { signal, requestId })) send(chunk);
 */
export function createOpenAIClient(options: OpenAIClientOptions): OpenAIClient {
  const {
    apiUrl,
    clock,
    ids,
    beforeCall,
    includeUsage = true,
    connections = 1024,
    maxWaiting = 1024,
  } = options;
  const apiKey = options.apiKey?.trim();
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const retry = { ...DEFAULT_RETRY, ...options.retry };
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const redact = createRedact(apiKey === undefined ? [] : [apiKey]);
  const { errorBytes } = limits;
  const { origin, path } = providerEndpoint(apiUrl);
  const headersFor = createHeaders(apiKey);
  const connection = createProviderConnection({
    origin,
    connections,
    maxWaiting,
    timeouts,
    retry,
    errorBytes,
    clock,
    ids,
    redact,
    beforeCall,
  });

  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    const call = { path, headers: headersFor(context), body: completeBody(request), lifetime };
    const response = await connection.send({ ...call, firstByteMs: undefined });
    const text = await response.readAll(limits.answerBytes);
    if (text === undefined) throw malformed('it is too large');
    return parseCompletion(text, redact);
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    const call = { path, headers: headersFor(context), body: streamBody(request, includeUsage), lifetime };
    const response = await connection.send({ ...call, firstByteMs: timeouts.firstByteMs });
    const decoder = createChunkDecoder(limits.eventChars, redact);
    let isWhole = false;
    try {
      while (!decoder.isOver) {
        const bytes = await response.read();
        if (bytes === undefined) break;
        for (const chunk of decoder.feed(bytes)) {
          lifetime.signal.throwIfAborted();
          yield chunk;
        }
      }
      decoder.end();
      isWhole = true;
    } finally {
      if (isWhole) response.finish();
      else response.cancel();
    }
  }

  return { complete, stream, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]() };
}

/** Where something is asked for: an origin to connect to and the path of the route. */
interface ProviderEndpoint {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
}

/**
 * The endpoint under a base URL. As with the `base_url` of OpenAI's libraries, the route is appended to it,
 * whether it ends in a slash or not, and nothing else is guessed: servers differ in whether they have a `/v1`. A query
 * (`?api-version=…`) is kept. Throws for a URL that is not http(s), or that holds a user name or password, since URLs
 * are logged and shown.
 *
 * @example
 * providerEndpoint('https://api.openai.com/v1/'); // { origin: 'https://api.openai.com', path: '/v1/chat/completions' }
 */
export function providerEndpoint(apiUrl: string, route = '/chat/completions'): ProviderEndpoint {
  const url = URL.parse(apiUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('The model API URL is not an http:// or https:// URL.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('The model API URL must not hold credentials; set the API key instead.');
  }
  return { origin: url.origin, path: `${url.pathname.replace(/\/+$/, '')}${route}${url.search}` };
}

/** The headers of a call. Throws for a key that a header cannot carry. */
export function createHeaders(
  apiKey: string | undefined,
): (context: Pick<ModelCallContext, 'requestId' | 'traceHeaders'>) => Record<string, string> {
  const key = apiKey?.trim();
  if (key !== undefined && !/^[\x21-\x7e]*$/.test(key)) {
    throw new TypeError('The model API key holds characters that a header cannot carry.');
  }
  const fixed = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'agent-gateway',
    ...(key && { authorization: `Bearer ${key}` }),
  };
  return (context) => ({ ...context.traceHeaders, 'x-request-id': context.requestId, ...fixed });
}

/** The body of a call for a whole answer. */
function completeBody(request: ChatRequest): string {
  // Servers refuse stream_options without stream.
  return JSON.stringify({ ...request, stream: false, stream_options: undefined });
}

/**
 * The body of a call for a stream. Usage is always asked for, since the gateway meters; `includeUsage: false` leaves
 * the whole member out, for servers that refuse it.
 */
function streamBody(request: ChatRequest, includeUsage: boolean): string {
  const options = includeUsage ? { ...request.stream_options, include_usage: true } : undefined;
  return JSON.stringify({ ...request, stream: true, stream_options: options });
}
