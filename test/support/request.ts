/** A request of a test. */
export interface PlainRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown;
  /** Bearer token; absent or `null`: none. */
  readonly token?: string | null;
  readonly signal?: AbortSignal;
}

/** An answer; `body` is the parsed JSON, or the text when it is none. */
export interface PlainResponse {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** Sends a request and reads the whole answer. */
export async function send(url: string, request: PlainRequest = {}): Promise<PlainResponse> {
  const response = await open(url, request);
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Sends a request and leaves the body of the answer to the caller, for streams. */
export function open(url: string, request: PlainRequest = {}): Promise<Response> {
  const { method = 'GET', headers = {}, body, token, signal } = request;
  const isJson = typeof body === 'object' && body !== null;
  return fetch(url, {
    method,
    headers: {
      ...(token === undefined || token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : String(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}
