import type { ChatRequest, ModelCallContext } from '../../contract.ts';

/** Where something is asked for: an origin to connect to and the path of the route. */
export interface ProviderEndpoint {
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
export function completeBody(request: ChatRequest): string {
  // Servers refuse stream_options without stream.
  return JSON.stringify({ ...request, stream: false, stream_options: undefined });
}

/**
 * The body of a call for a stream. Usage is always asked for, since the gateway meters; `includeUsage: false` leaves
 * the whole member out, for servers that refuse it.
 */
export function streamBody(request: ChatRequest, includeUsage: boolean): string {
  const options = includeUsage ? { ...request.stream_options, include_usage: true } : undefined;
  return JSON.stringify({ ...request, stream: true, stream_options: options });
}
