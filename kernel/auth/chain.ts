import { DeadlineError, within } from '../../foundation/base/deadline.ts';
import { ANONYMOUS, type Identity, REJECTED } from '../access/identity.ts';
import type {
  AnyAuthenticator,
  AuthenticationFailure,
  BodyAuthenticator,
  Credentials,
  Outcome,
  PresentedCredentials,
} from './authenticator.ts';
import { AuthErrors } from './errors.ts';

/**
 * Who is calling. With a `failure` the identity is `REJECTED` and belongs to no tenant, so that only `public` routes
 * serve it; the failure says why, for log and audit.
 */
export interface AuthenticationResult {
  readonly identity: Identity;
  readonly failure?: AuthenticationFailure & {
    /** Name of the authenticator that refused; `undefined` when none recognized the credential. */
    readonly authenticator?: string;
  };
  /** True of a signature, which is that of one call: its authenticator may refuse it when it is asked again. */
  readonly isSigned?: boolean;
}

/** The kinds of credential, tried in order; the first match wins, and a refusal is final (specification 1, Chain). */
export interface AuthenticationChain {
  /**
   * Identifies a caller. No promise when the credential is the static token, a cached key, or absent: this is the hot
   * path. Throws when an authenticator cannot decide.
   */
  authenticate(credentials: PresentedCredentials): AuthenticationResult | Promise<AuthenticationResult>;
  /** Adds a plugin's kind of credential after all others and returns what removes it. Throws when the name is taken. */
  add(authenticator: AnyAuthenticator): () => void;
  /** The kinds of credential that are taken now, in their order. */
  kinds(): readonly Pick<AnyAuthenticator, 'name' | 'places'>[];
}

const NO_CALLER: AuthenticationResult = Object.freeze({ identity: ANONYMOUS });
const UNRECOGNIZED: AuthenticationResult = Object.freeze({
  identity: REJECTED,
  failure: Object.freeze({ failure: 'unknown' }),
});

/** Milliseconds that a plugin's authenticator may take. */
const DEADLINE_MS = 5000;

/** Makes a chain of the kernel's own authenticators, in their order: static token, API key, JWT. */
export function createAuthenticationChain(options: {
  readonly builtin: readonly AnyAuthenticator[];
  /** Milliseconds after which an authenticator without an answer fails the request; default 5000. */
  readonly deadline?: number;
}): AuthenticationChain {
  const { deadline = DEADLINE_MS } = options;
  // Replaced, never changed: a request under way goes on with the list that it started with.
  let authenticators: readonly AnyAuthenticator[] = options.builtin;

  function tryFrom(
    list: readonly AnyAuthenticator[],
    start: number,
    credentials: PresentedCredentials,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    for (let index = start; index < list.length; index += 1) {
      const authenticator = list[index]!;
      const outcome =
        authenticator.needsBody === true
          ? askWithBody(authenticator, credentials, deadline)
          : authenticator.authenticate(credentials);
      if (outcome instanceof Promise) {
        const answer = authenticator.needsBody === true ? outcome : settle(authenticator, outcome, deadline);
        return answer.then((settled) =>
          settled === undefined ? tryFrom(list, index + 1, credentials) : conclude(authenticator, settled),
        );
      }
      if (outcome !== undefined) return conclude(authenticator, outcome);
    }
    return isPresented(credentials) ? UNRECOGNIZED : NO_CALLER;
  }

  return {
    authenticate: (credentials) => tryFrom(authenticators, 0, credentials),
    kinds: () => authenticators,
    add(authenticator) {
      if (authenticators.some(({ name }) => name === authenticator.name)) {
        throw new Error(`there is an authenticator named ${authenticator.name} already`);
      }
      authenticators = [...authenticators, authenticator];
      return () => {
        authenticators = authenticators.filter((other) => other !== authenticator);
      };
    },
  };
}

function conclude(
  authenticator: Pick<AnyAuthenticator, 'name' | 'needsBody'>,
  outcome: NonNullable<Outcome>,
): AuthenticationResult {
  if ('identity' in outcome) return authenticator.needsBody ? { ...outcome, isSigned: true } : outcome;
  return { identity: REJECTED, failure: { ...outcome, authenticator: authenticator.name } };
}

/** A wrong `Authorization` header is not the same as none: it never falls through to what anonymous callers get. */
function isPresented(credentials: Credentials): boolean {
  return credentials.bearer !== undefined || credentials.header('authorization') !== undefined;
}

/** The deadline of the authenticator begins when the body is there; the client has a time of its own for sending it. */
function askWithBody(
  authenticator: BodyAuthenticator,
  credentials: PresentedCredentials,
  deadline: number,
): Promise<Outcome> | undefined {
  const { bearer, header, cookie, method, path, target, loopback, readBody } = credentials;
  const isThere = ({ in: place, name }: BodyAuthenticator['places'][number]) =>
    (place === 'header' ? header(name) : cookie(name)) !== undefined;
  if (readBody === undefined || !authenticator.places.some(isThere)) return undefined;
  const signed = {
    ...(bearer === undefined ? {} : { bearer }),
    header,
    cookie,
    method,
    path,
    target,
    loopback,
  };
  const ask = async (body: Buffer) => authenticator.authenticate({ ...signed, body });
  return readBody().then((body) => settle(authenticator, ask(body), deadline));
}

/** Waits for an authenticator; one that hangs costs its caller a 503, not a connection. */
async function settle(
  authenticator: Pick<AnyAuthenticator, 'name'>,
  work: Promise<Outcome>,
  deadline: number,
): Promise<Outcome> {
  try {
    return await within(deadline, `authenticator ${authenticator.name}`, work);
  } catch (cause) {
    if (!(cause instanceof DeadlineError)) throw cause;
    throw AuthErrors.unavailable(undefined, { headers: { 'retry-after': '1' }, cause });
  }
}
