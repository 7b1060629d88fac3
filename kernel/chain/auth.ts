import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import { GatewayError } from '../../foundation/base/gateway-error.ts';
import { HTTP_STATUS } from '../../foundation/errors/status.ts';
import type { BodyBudget } from '../../foundation/http/body-budget.ts';
import { actingIdentity } from '../access/identity.ts';
import type { Access } from '../api/access.ts';
import type { PresentedCredentials } from '../auth/authenticator.ts';
import type { AuthenticationChain, AuthenticationResult } from '../auth/chain.ts';
import { HeaderCredentials } from '../http/credentials.ts';
import type { CallState } from './call-state.ts';
import { readAhead } from './request-body.ts';
import type { Context, Middleware } from './request-state.ts';

/**
 * Notes who is calling; `access` is the rule of what is called, `undefined` for what leads nowhere. Never throws or
 * rejects. No promise where nothing has to be waited for.
 */
export type Identify = (
  state: CallState,
  credentials: PresentedCredentials,
  access: Access | undefined,
) => void | Promise<void>;

/**
 * Tries the credentials in the specification's order. One that does not hold is only noted here: authorization refuses,
 * so that tenant, logging and audit see every call.
 *
 * @param anonymousAllowed `SVC_ALLOW_ANONYMOUS`; `undefined` serves open routes to loopback callers only
 */
export function createIdentify(chain: AuthenticationChain, anonymousAllowed: boolean | undefined): Identify {
  const accept = (
    state: CallState,
    { identity, failure, isSigned = false }: AuthenticationResult,
    credentials: PresentedCredentials,
    access: Access | undefined,
  ) => {
    state.failure = failure;
    state.isSigned = isSigned;
    // Where the caller is matters only without a credential.
    state.identity =
      access !== undefined && identity.method === 'anonymous'
        ? actingIdentity(access, identity, { loopback: credentials.loopback, anonymousAllowed })
        : identity;
  };
  return function identify(state, credentials, access) {
    const unavailable = (cause: unknown) => {
      // A body that is too large cannot be checked at any time; what is away says so itself, and for how long.
      state.unavailable =
        cause instanceof GatewayError && (HTTP_STATUS[cause.kind] < 500 || cause.kind === 'unavailable')
          ? cause
          : KernelErrors.unavailable('The credential cannot be checked now', { cause });
    };
    let result: AuthenticationResult | Promise<AuthenticationResult>;
    try {
      result = chain.authenticate(credentials);
    } catch (cause) {
      unavailable(cause);
      return;
    }
    if (result instanceof Promise) {
      return result.then((found) => accept(state, found, credentials, access), unavailable);
    }
    accept(state, result, credentials, access);
  };
}

/** Identifies the caller of a request. */
export function auth(identify: Identify, bodies: BodyBudget): Middleware {
  return function authenticateRequest(context, next) {
    const { state, req } = context;
    const route = state.match.kind === 'route' ? state.match.route : undefined;
    if (route !== undefined && isExempt(route)) return next();
    // Of a form or a mounted router the body is a stream, which is not read ahead.
    const isWhole = route?.definition !== undefined && route.definition.bodyType !== 'form';
    const readBody = isWhole ? () => readAhead(context as Context, bodies) : undefined;
    state.credentials = new HeaderCredentials(
      req,
      req.method ?? 'GET',
      { path: state.path, target: req.url ?? '/' },
      readBody,
    );
    const identified = identify(state, state.credentials, route?.access);
    return identified === undefined ? next() : identified.then(next);
  };
}

/** Health and metrics never look at credentials: they must answer while the database is away. */
export function isExempt({ rateLimit, access }: { rateLimit: unknown; access: Access }): boolean {
  return rateLimit === 'none' && access.kind === 'public';
}
