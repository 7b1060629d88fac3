import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { NO_CONTENT } from './client.ts';
import type { Egress, EgressContext, EgressRequest, EgressResponse } from './egress.ts';
import { EgressErrors } from './errors.ts';

type Fetch = typeof globalThis.fetch;

/** A standard `fetch` over the requests of one tenant; see `Egress.fetchFor`. */
export function createFetch(
  send: (request: EgressRequest) => ReturnType<Egress['request']>,
  context: EgressContext,
): Fetch {
  return async function egressFetch(input, init) {
    const request = new Request(input, init);
    const isStream = init?.body instanceof ReadableStream || (init?.body == null && input instanceof Request);
    const response = await send({
      ...context,
      url: request.url,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body: await bodyOf(request, isStream),
      redirect: request.redirect,
      signal: request.signal,
    });
    return toResponse(response);
  };
}

/** A stream as a stream; everything else, which is in memory already, as bytes that a redirect can send again. */
async function bodyOf(request: Request, isStream: boolean): Promise<EgressRequest['body']> {
  if (request.body === null) return undefined;
  return isStream
    ? Readable.fromWeb(request.body as NodeStream)
    : new Uint8Array(await request.arrayBuffer());
}

function toResponse({ status, statusText, headers, body, url, redirected }: EgressResponse): Response {
  if (status < 200 || status > 599) {
    body.destroy();
    throw EgressErrors.unreachable(`${new URL(url).hostname} answers with the status ${status}.`);
  }
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) fields.append(name, one);
  }
  const isEmpty = NO_CONTENT.has(status);
  if (isEmpty) body.resume();
  const content = isEmpty ? null : (Readable.toWeb(body) as ReadableStream<Uint8Array<ArrayBuffer>>);
  const response = new Response(content, { status, statusText, headers: fields });
  // A response that was made, not fetched, says nothing of these; libraries resolve relative links by them.
  return Object.defineProperties(response, { url: { value: url }, redirected: { value: redirected } });
}
