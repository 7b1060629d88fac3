import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Admission } from './admission.ts';
import type { Connections } from './connections.ts';
import type { EgressRequest, EgressResponse } from './egress.ts';
import { EgressErrors } from './errors.ts';
import { connectionError } from './failure.ts';
import { endToEnd, requestHeaders } from './headers.ts';
import { type Lifetime, startLifetime } from './lifetime.ts';
import { type Hop, redirectOf } from './redirect.ts';
import { isDecodable, readBody, tooLarge } from './response-body.ts';
import { parseTarget } from './target.ts';

const DEFAULTS = { timeout: 30_000, maxBytes: 10 * 1_048_576, redirects: 5 };
/** CONNECT and TRACE make something else of a connection; TRACK is TRACE under another name. */
const METHOD = /^(?!(?:CONNECT|TRACE|TRACK)$)[!#$%&'*+\-.^_`|~0-9A-Z]{1,32}$/;
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Statuses whose answers have no body. */
export const NO_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

type Answer = Dispatcher.ResponseData;

/** Sends requests: checks, connections, redirects and bodies put together. Throws `EgressRefusal` where it is denied. */
export type Client = (tenantId: string, request: EgressRequest) => Promise<EgressResponse>;

/** Makes the client. */
export function createClient(options: {
  readonly admission: Admission;
  readonly connections: Connections;
}): Client {
  const { admission, connections } = options;

  /** Sends one hop. What it holds of the connections it gives back when undici is done with it, not when we stop waiting. */
  async function send(tenantId: string, hop: Hop, life: Lifetime): Promise<Answer> {
    const { target, method, headers, body } = hop;
    const { dispatcher, release } = connections.lease(tenantId, target);
    const sent = dispatcher.request({
      path: `${target.path}${target.url.search}`,
      method,
      headers: headers as Record<string, string | string[]>,
      body: body as string | Buffer | Readable | undefined,
      signal: life.signal,
    });
    sent.then((answer) => answer.body.once('close', release), release);
    return life.race(sent, discard).catch((error: Error) => {
      throw life.signal.aborted ? life.signal.reason : connectionError(error, target);
    });
  }

  async function exchange(tenantId: string, request: EgressRequest, life: Lifetime): Promise<EgressResponse> {
    const { redirect = 'follow', redirects = DEFAULTS.redirects } = request;
    let hop = firstHop(request);
    for (let followed = 0; ; followed += 1) {
      await life.race(admission.admit(tenantId, hop.target));
      const answer = await send(tenantId, hop, life);
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
      await life.race(discard(answer));
    }
  }

  return async (tenantId, request) => {
    const life = startLifetime(request.signal, request.timeout ?? DEFAULTS.timeout);
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

/** Lets go of an answer that nobody reads. Its connection is closed unless the answer is complete already. */
function discard({ body }: Answer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  body.on('error', () => {});
  body.once('close', resolve);
  body.destroy();
  return promise;
}
