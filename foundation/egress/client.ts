import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { Dispatcher } from 'undici';
import { type Lifetime, orAborted, startLifetime } from '../base/deadline.ts';
import type { Admission } from './admission.ts';
import type { Connections } from './connections.ts';
import type { Egress, EgressContext, EgressRequest, EgressResponse } from './egress.ts';
import { connectionError, EgressErrors } from './errors.ts';
import {
  endToEnd,
  type HeaderFields,
  requestHeaders,
  withoutBodyFields,
  withoutCredentials,
} from './headers.ts';
import { isDecodable, readBody, tooLarge } from './response-body.ts';
import { parseTarget, type Target } from './target.ts';

const DEFAULTS = { timeout: 30_000, maxBytes: 10 * 1_048_576, redirects: 5 };
/** Interim answers (1xx) of one request: a server may send them without end, and each costs the process time. */
const MAX_INTERIM = 32;
/** CONNECT and TRACE make something else of a connection; TRACK is TRACE under another name. */
const METHOD = /^(?!(?:CONNECT|TRACE|TRACK)$)[!#$%&'*+\-.^_`|~0-9A-Z]{1,32}$/;
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Statuses whose answers have no body. */
const NO_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

type Answer = Dispatcher.ResponseData;

/**
 * Sends requests: checks, connections, redirects and bodies put together. Throws `EgressRefusal` where it is denied.
 */
type Client = (tenantId: string, request: EgressRequest) => Promise<EgressResponse>;

/** Makes the client. */
export function createClient(admission: Admission, connections: Connections): Client {
  /** Sends one hop. Gives its connection back when undici is done with it, not when we stop waiting. */
  async function send(tenantId: string, account: string, hop: Hop, life: Lifetime): Promise<Answer> {
    const { target, method, headers, body } = hop;
    const { dispatcher, release } = connections.lease(tenantId, target, account);
    let interim = 0;
    const sent = dispatcher.request({
      path: `${target.path}${target.url.search}`,
      method,
      headers: headers as Record<string, string | string[]>,
      body: body as string | Buffer | Readable | undefined,
      signal: life.signal,
      onInfo() {
        interim += 1;
        if (interim > MAX_INTERIM)
          throw EgressErrors.unreachable(`${target.host} sends interim answers without end.`);
      },
    });
    sent.then((answer) => {
      answer.body.once('close', release);
      if (life.signal.aborted) void discard(answer);
    }, release);
    return orAborted(sent, life.signal).catch((error: Error) => {
      throw life.signal.aborted ? life.signal.reason : connectionError(error, target);
    });
  }

  async function exchange(tenantId: string, request: EgressRequest, life: Lifetime): Promise<EgressResponse> {
    const { redirect = 'follow', redirects = DEFAULTS.redirects, account = tenantId } = request;
    let hop = firstHop(request);
    for (let followed = 0; ; followed += 1) {
      await orAborted(admission.admit(tenantId, hop.target), life.signal);
      const answer = await send(tenantId, account, hop, life);
      try {
        const next =
          redirect === 'manual' ? undefined : redirectOf(hop, answer.statusCode, answer.headers.location);
        if (next === undefined) return respond(request, hop, answer, life, followed > 0);
        if (redirect === 'error') throw EgressErrors.badRedirect(`${hop.target.host} redirects.`);
        if (followed >= redirects) {
          throw EgressErrors.tooManyRedirects(`${hop.target.host} redirects for the ${followed + 1}th time.`);
        }
        hop = next;
      } catch (error) {
        discard(answer);
        throw error;
      }
      // Its place has to be free before the next hop takes one.
      await orAborted(discard(answer), life.signal);
    }
  }

  return async (tenantId, request) => {
    const timeout = request.timeout ?? DEFAULTS.timeout;
    const overdue = () => EgressErrors.timeout(`The request took longer than ${timeout / 1000} s.`);
    const life = startLifetime(request.signal, timeout, overdue);
    try {
      return await exchange(tenantId, request, life);
    } catch (error) {
      life.end();
      if (request.body instanceof Readable) request.body.destroy();
      throw error;
    }
  };
}

function firstHop(request: EgressRequest): Hop {
  const target = parseTarget(request.url);
  const method = (request.method ?? 'GET').toUpperCase();
  if (!METHOD.test(method)) throw EgressErrors.malformed('The method is not valid.');
  const body = request.body ?? undefined;
  if (body !== undefined && WITHOUT_BODY.has(method)) throw EgressErrors.malformed(`${method} has no body.`);
  return { target, method, headers: requestHeaders(request.headers ?? {}), body };
}

function respond(
  request: EgressRequest,
  { target, method }: Hop,
  answer: Answer,
  life: Lifetime,
  redirected: boolean,
): EgressResponse {
  const { maxBytes = DEFAULTS.maxBytes, bodyTimeout } = request;
  const headers = endToEnd(answer.headers);
  const { 'content-encoding': coding, 'content-length': length, ...others } = headers;
  const hasBody = method !== 'HEAD' && !NO_CONTENT.has(answer.statusCode) && length !== '0';
  const encoding = hasBody ? [coding ?? []].flat().join(',') : undefined;
  const isDecoded = isDecodable(encoding);
  if (hasBody && !isDecoded && Number(length) > maxBytes) throw tooLarge(maxBytes);
  if (bodyTimeout !== undefined) life.stopTimer();
  const body = readBody(answer.body, {
    encoding,
    maxBytes,
    silence: bodyTimeout,
    errorOf: (error) =>
      life.signal.aborted ? (life.signal.reason as Error) : connectionError(error, target),
    onClose: () => life.end(),
  });
  return {
    status: answer.statusCode,
    statusText: answer.statusText,
    headers: isDecoded ? others : headers,
    body,
    url: target.url.href,
    redirected,
  };
}

/** Discards an answer that is not read. Its connection is closed unless the answer is complete already. */
function discard({ body }: Answer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  body.on('error', () => {});
  body.once('close', resolve);
  body.destroy();
  return promise;
}

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
  const response = new Response(content, { status, headers: fields });
  // A response that was made, not fetched, says nothing of these, by which libraries resolve relative links, and takes
  // no phrase but of Latin letters.
  return Object.defineProperties(response, {
    statusText: { value: statusText },
    url: { value: url },
    redirected: { value: redirected },
  });
}

/** One request on the way to an answer. */
interface Hop {
  readonly target: Target;
  readonly method: string;
  readonly headers: HeaderFields;
  readonly body: string | Uint8Array | Readable | undefined;
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The request that a redirect asks for, by the rules of WHATWG Fetch (4.4): POST becomes GET after 301 and 302,
 * everything but HEAD after 303. Credentials do not travel to another origin, and do not come back on the way home.
 * `undefined` for an answer that is no redirect.
 *
 * @throws EgressErrors.badRedirect for a place that cannot be requested, and for a body that was a stream and is gone
 */
function redirectOf(hop: Hop, status: number, location: string | string[] | undefined): Hop | undefined {
  const [place] = [location ?? []].flat();
  if (!STATUSES.has(status) || place === undefined) return undefined;
  const target = targetOf(hop.target, place);
  const isSameOrigin = target.url.origin === hop.target.url.origin;
  const headers = isSameOrigin ? hop.headers : withoutCredentials(hop.headers);
  const becomesGet =
    status === 303 ? hop.method !== 'GET' && hop.method !== 'HEAD' : status < 303 && hop.method === 'POST';
  if (becomesGet) return { target, method: 'GET', headers: withoutBodyFields(headers), body: undefined };
  if (hop.body instanceof Readable) {
    throw EgressErrors.badRedirect('The redirect asks for the body again, which was a stream.');
  }
  return { ...hop, target, headers };
}

function targetOf(from: Target, place: string): Target {
  const url = URL.parse(place, from.url.href);
  try {
    return parseTarget(url ?? '');
  } catch (cause) {
    throw EgressErrors.badRedirect(`${from.host} redirects to something that cannot be requested.`, {
      cause,
    });
  }
}
