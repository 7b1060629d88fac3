import type { Lifetime, Timeouts } from '../deadlines.ts';
import {
  type ConnectionRules,
  createProviderConnection,
  type ProviderConnection,
  type ProviderResponse,
} from '../provider-connection.ts';
import { malformed } from '../provider-errors.ts';

/** What an AI SDK provider is given as `fetch`. */
export type ProviderFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

interface Call {
  readonly lifetime: Pick<Lifetime, 'signal' | 'remaining'>;
  readonly firstByteMs: number | undefined;
  readonly responses: ProviderResponse[];
}

/** A provider talks to its own server, and perhaps to one that gives out tokens. */
const MOST_ORIGINS = 4;

/**
 * A `fetch` over the gateway's own connections, so that a call through an AI SDK package has the same pool, deadlines,
 * retries, errors and cancellation as one of the gateway's own client. It only answers with success: everything else is
 * thrown as an error of `ModelErrors`. Redirects are not followed. Each server has a pool; disposing it breaks the
 * calls that are still in flight.
 */
export function createProviderFetch(rules: ConnectionRules) {
  const connections = new Map<string, ProviderConnection>();
  // A provider's `fetch` is made once for many calls. Requests find their call by its signal, which the AI SDK passes
  // through.
  const calls = new WeakMap<AbortSignal, Call>();

  function connect(origin: string): ProviderConnection {
    const known = connections.get(origin);
    if (known !== undefined) return known;
    if (connections.size >= MOST_ORIGINS) throw new TypeError('The provider asks too many servers.');
    const connection = createProviderConnection(origin, rules);
    connections.set(origin, connection);
    return connection;
  }

  async function fetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = new URL(String(input));
    const call = (init.signal && calls.get(init.signal)) || strayCall(init.signal, rules.timeouts);
    const response = await connect(url.origin).send({
      method: init.method === 'GET' ? 'GET' : 'POST',
      path: `${url.pathname}${url.search}`,
      headers: headersOf(init.headers),
      body: bodyOf(init.body),
      lifetime: call.lifetime,
      firstByteMs: call.firstByteMs,
    });
    call.responses.push(response);
    return toResponse(response, rules.answerBytes);
  }

  return {
    fetch,
    /**
     * Binds requests that carry the lifetime's signal to that lifetime. Disposing it closes those that are still open.
     */
    begin(lifetime: Lifetime, firstByteMs: number | undefined): Disposable {
      const call: Call = { lifetime, firstByteMs, responses: [] };
      calls.set(lifetime.signal, call);
      return {
        [Symbol.dispose]() {
          calls.delete(lifetime.signal);
          // Does nothing to those that have ended.
          for (const response of call.responses) response.cancel();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...connections.values()].map((connection) => connection[Symbol.asyncDispose]()));
    },
  };
}

/**
 * A request outside of any call, such as one for a token: it may take as long as a call, and has a deadline of its own.
 */
function strayCall(signal: AbortSignal | null | undefined, { totalMs, firstByteMs }: Timeouts): Call {
  const deadline = AbortSignal.timeout(totalMs);
  const ends = signal ? AbortSignal.any([signal, deadline]) : deadline;
  return { lifetime: { signal: ends, remaining: () => totalMs }, firstByteMs, responses: [] };
}

function headersOf(init: RequestInit['headers']): Record<string, string> {
  const headers = Object.fromEntries(new Headers(init));
  delete headers['content-length'];
  // Nothing here decompresses.
  return { ...headers, 'accept-encoding': 'identity' };
}

function bodyOf(body: RequestInit['body']): string | Uint8Array | null {
  if (body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array) {
    return body ?? null;
  }
  throw new TypeError('The provider sends a body that cannot be sent again.');
}

/** The response as the AI SDK reads it: nothing is read ahead, and not more than `maxBytes`. */
function toResponse(response: ProviderResponse, maxBytes: number): Response {
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await response.read();
        if (chunk === undefined) {
          controller.close();
          return;
        }
        bytes += chunk.length;
        if (bytes > maxBytes) {
          response.cancel();
          throw malformed('it is too large');
        }
        controller.enqueue(chunk);
      },
      cancel: () => response.cancel(),
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.head.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return new Response(body, { status: response.head.status, headers });
}
