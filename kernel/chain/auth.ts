import { actingIdentity } from '../access/anonymous.ts';
import type { AuthenticationChain, AuthenticationResult } from '../auth/chain.ts';
import { KernelErrors } from '../errors/catalogue.ts';
import { HttpCredentials } from '../http/credentials.ts';
import type { Context, Stage } from '../http/stage.ts';

/** What the stage needs. */
export interface AuthStage {
  readonly chain: AuthenticationChain;
  /** `SVC_ALLOW_ANONYMOUS`; `undefined` serves open routes to loopback callers only. */
  readonly anonymousAllowed: boolean | undefined;
}

/**
 * Tries the credentials in the specification's order. One that does not hold is only noted here: the RBAC stage refuses,
 * so that tenant, logging and audit see every request.
 */
export function auth({ chain, anonymousAllowed }: AuthStage): Stage {
  const accept = (context: Context, credentials: HttpCredentials, result: AuthenticationResult) => {
    const { state } = context;
    state.failure = result.failure;
    // Where the caller is matters only without a credential.
    state.identity =
      state.match.kind === 'route' && result.identity.method === 'anonymous'
        ? actingIdentity(state.match.route.access, result.identity, {
            loopback: credentials.loopback,
            anonymousAllowed,
          })
        : result.identity;
  };
  return function authenticateRequest(context, next) {
    if (isExempt(context)) return next();
    const credentials = new HttpCredentials(context.req, context.state.path);
    const unavailable = (cause: unknown) => {
      context.state.unavailable = KernelErrors.unavailable('The credential cannot be checked now', { cause });
    };
    let result: AuthenticationResult | Promise<AuthenticationResult>;
    try {
      result = chain.authenticate(credentials);
    } catch (cause) {
      unavailable(cause);
      return next();
    }
    if (result instanceof Promise) {
      return result.then((found) => accept(context, credentials, found), unavailable).then(next);
    }
    accept(context, credentials, result);
    return next();
  };
}

/** Health and metrics never look at credentials: they must answer while the database is away. */
function isExempt({ state: { match } }: Context): boolean {
  return match.kind === 'route' && match.route.rateLimit === 'none' && match.route.access.kind === 'public';
}
