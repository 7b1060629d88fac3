import { defineErrors, type GatewayError } from '../../foundation/base/gateway-error.ts';
import type { Decision } from '../access/decide.ts';
import type { AuthenticationFailure } from './authenticator.ts';

/** The errors of credentials, as callers get them. `invalid` is one message for unknown, revoked and expired alike. */
export const AuthErrors = defineErrors({
  required: { code: 'auth.required', kind: 'unauthenticated', title: 'This needs a credential' },
  invalid: { code: 'auth.invalid', kind: 'unauthenticated', title: 'The credential is not valid' },
  forbidden: { code: 'auth.forbidden', kind: 'forbidden', title: 'The credential does not allow this' },
  unavailable: {
    code: 'auth.unavailable',
    kind: 'unavailable',
    title: 'The credential cannot be checked at the moment',
  },
});

/** What can go wrong with API key records. */
export const ApiKeyErrors = defineErrors({
  notFound: { code: 'api-key.not-found', kind: 'not-found', title: 'There is no such API key' },
  revoked: { code: 'api-key.revoked', kind: 'conflict', title: 'The API key is revoked already' },
  expired: { code: 'api-key.expired', kind: 'conflict', title: 'The API key is expired' },
});

/** What can go wrong with the first key of a deployment. */
export const BootstrapErrors = defineErrors({
  completed: {
    code: 'bootstrap.completed',
    kind: 'forbidden',
    title: 'The default tenant has an administrator key already',
  },
});

/** The error for a call that was not allowed; `failure` is the one of the chain, when a credential was presented. */
export function denialError(
  decision: Decision & { allow: false },
  failure: AuthenticationFailure | undefined,
): GatewayError {
  if (decision.reason === 'forbidden') return AuthErrors.forbidden(decision.detail);
  // RFC 6750, 3: the error code only for callers who presented something.
  if (failure === undefined)
    return AuthErrors.required('Send an API key in the Authorization header', {
      headers: { 'www-authenticate': 'Bearer' },
    });
  if (failure.error !== undefined) return failure.error;
  return AuthErrors.invalid('It is not, or not any more, a credential of this gateway', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  });
}
