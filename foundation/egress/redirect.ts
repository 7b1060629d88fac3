import { Readable } from 'node:stream';
import { EgressErrors } from './errors.ts';
import { type HeaderFields, withoutBodyFields, withoutCredentials } from './headers.ts';
import { parseTarget, type Target } from './target.ts';

/** One request on the way to an answer. */
export interface Hop {
  readonly target: Target;
  readonly method: string;
  readonly headers: HeaderFields;
  readonly body: string | Uint8Array | Readable | undefined;
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The request that a redirect asks for, by the rules of WHATWG Fetch (4.4): POST becomes GET after 301 and 302, everything
 * but HEAD after 303. Credentials do not travel to another origin, and do not come back on the way home. `undefined` for an
 * answer that is no redirect.
 *
 * @throws EgressErrors.badRedirect for a place that cannot be requested, and for a body that was a stream and is gone
 */
export function redirectOf(
  hop: Hop,
  status: number,
  location: string | string[] | undefined,
): Hop | undefined {
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
