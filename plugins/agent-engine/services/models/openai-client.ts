import type { ChatChunk, ChatCompletion, ChatRequest, ModelCallContext } from '../../contract.ts';
import { startLifetime } from './deadlines.ts';
import { asChunk, createChunkDecoder, parseCompletion } from './openai-answer.ts';
import {
  type ConnectionOptions,
  connectionRules,
  createProviderConnection,
  type ProviderCall,
  type ProviderClient,
  type ProviderResponse,
} from './provider-connection.ts';
import { malformed } from './provider-errors.ts';
import { wantsThoughts, withThoughts } from './thoughts.ts';

/** Settings and collaborators of an OpenAI-compatible client. */
export interface OpenAIClientOptions extends ConnectionOptions {
  /** The base URL to which `/chat/completions` is appended. */
  readonly apiUrl: string;
  /** Sent as a bearer token; absent for servers that need none. */
  readonly apiKey?: string | undefined;
  /**
   * Ask for usage in streams (`stream_options`). Default true; false for servers that refuse it, which are not metered
   * then.
   */
  readonly includeUsage?: boolean;
  /** One event of a stream, in characters. Default 1,048,576. */
  readonly eventChars?: number;
}

/**
 * A client for any server that speaks OpenAI's chat completions: pooled, streaming, abortable, with deadlines and
 * retries. `request.model` has to be the provider's own name. Throws a TypeError for a URL or key that cannot work.
 *
 * @example
 * await using client = createOpenAIClient({ apiUrl: 'https://api.openai.com/v1', apiKey, clock, ids });
 * for await (const chunk of client.stream(request, { signal, requestId })) send(chunk);
 */
export function createOpenAIClient(options: OpenAIClientOptions): ProviderClient {
  const { apiUrl, clock, ids, includeUsage = true, eventChars = 1 << 20 } = options;
  const rules = connectionRules(options);
  const { timeouts, redact } = rules;
  const { origin, path } = providerEndpoint(apiUrl);
  const headersFor = createHeaders(options.apiKey);
  const connection = createProviderConnection(origin, rules);
  const newId = () => `call_${ids.opaque()}`;

  let areThoughtsWanted = false;

  /** Sends a request, and once more where its refusal says that the server wants thoughts back. */
  async function send(
    { messages, ...request }: ChatRequest,
    call: Omit<ProviderCall, 'path' | 'body'>,
  ): Promise<ProviderResponse> {
    const sent = () =>
      connection.send({
        ...call,
        path,
        body: JSON.stringify({ ...request, messages: withThoughts(messages, areThoughtsWanted) }),
      });
    const brings = areThoughtsWanted;
    try {
      return answered(await sent());
    } catch (error) {
      if (brings || !wantsThoughts(error, messages)) throw error;
      areThoughtsWanted = true;
      return answered(await sent());
    }
  }

  async function complete(request: ChatRequest, context: ModelCallContext): Promise<ChatCompletion> {
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    // Servers refuse stream_options without stream.
    const whole = { ...request, stream: false, stream_options: undefined };
    const call = { headers: headersFor(context), lifetime, firstByteMs: undefined };
    const response = await send(whole, call);
    return parseCompletion(await response.readAll(rules.answerBytes), redact, newId);
  }

  async function* stream(request: ChatRequest, context: ModelCallContext): AsyncGenerator<ChatChunk, void> {
    using lifetime = startLifetime(context.signal, timeouts.totalMs, clock);
    // Usage is always asked for, since the gateway meters, except of servers that refuse `stream_options`.
    const stream_options = includeUsage ? { ...request.stream_options, include_usage: true } : undefined;
    const streamed = { ...request, stream: true, stream_options } as ChatRequest;
    const call = { headers: headersFor(context), lifetime, firstByteMs: timeouts.firstByteMs };
    const response = await send(streamed, call);
    let first: Buffer | undefined;
    // Some servers answer whole whatever is asked, or tell an error in this form; others call a stream JSON.
    if (mediaTypeOf(response) === 'application/json') {
      first = await response.read();
      if (first?.toString('latin1').trimStart().startsWith('{')) {
        yield asChunk(parseCompletion(await response.readAll(rules.answerBytes, first), redact, newId));
        return;
      }
    }
    const decoder = createChunkDecoder(eventChars, redact, newId);
    let isWhole = false;
    try {
      while (!decoder.isOver()) {
        let bytes: Buffer | undefined;
        try {
          bytes = first ?? (await response.read());
          first = undefined;
        } catch (error) {
          // A `finish_reason` makes an answer whole, with `[DONE]` or without.
          if (!decoder.isWhole() || lifetime.signal.aborted) throw error;
        }
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

/** The response, unless it is a page: of a proxy, or of a URL that is not that of the API. */
function answered(response: ProviderResponse): ProviderResponse {
  if (mediaTypeOf(response) !== 'text/html') return response;
  const failure = malformed('it is a page in HTML');
  response.cancel(failure);
  throw failure;
}

function mediaTypeOf({ head }: ProviderResponse): string | undefined {
  const [type] = [head.headers['content-type']].flat();
  return type?.split(';', 1)[0]?.trim().toLowerCase();
}

/**
 * The endpoint under a base URL: an origin to connect to, and the path of the route with its query. As with the
 * `base_url` of OpenAI's libraries, the route is appended to it, whether it ends in a slash or not, and nothing else is
 * guessed: servers differ in whether they have a `/v1`. A query (`?api-version=…`) is kept. Throws for what
 * `parseBaseUrl` refuses, and for a URL that ends in the route already, to which no server would answer.
 *
 * @example
 * providerEndpoint('https://api.openai.com/v1/'); // { origin: 'https://api.openai.com', path: '/v1/chat/completions' }
 */
export function providerEndpoint(apiUrl: string, route = '/chat/completions') {
  const { origin, pathname, search } = parseBaseUrl(apiUrl);
  const base = pathname.replace(/\/+$/, '');
  if (base.endsWith(route)) {
    throw new TypeError(
      `The model API URL ends in ${route}, which the gateway appends by itself: leave it out.`,
    );
  }
  return { origin, path: `${base}${route}${search}` };
}

/**
 * Reads a base URL. Throws for one that is not http(s), or that holds a user name or password, since URLs are logged
 * and shown.
 */
export function parseBaseUrl(apiUrl: string): URL {
  const url = URL.parse(apiUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('The model API URL is not an http:// or https:// URL.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('The model API URL must not hold credentials; set the API key instead.');
  }
  return url;
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
