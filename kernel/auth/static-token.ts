import { hash, timingSafeEqual } from 'node:crypto';
import { DEFAULT_TENANT_ID } from '../access/identity.ts';
import { effectiveScopes } from '../access/roles.ts';
import { ADMIN_SCOPE, GENERAL_SCOPES } from '../access/scopes.ts';
import { API_KEY_PREFIX } from './api-key-store.ts';
import type { Authenticator } from './authenticator.ts';

/**
 * Recognizes `SVC_ACP_TOKEN`: an administrator of the default tenant with all general scopes and break-glass
 * (specification 1, Authentication; decisions 1.9).
 */
export function createStaticTokenAuthenticator(token: string): Authenticator {
  const matches = createTokenComparison(token);
  const looksLikeKey = token.startsWith(API_KEY_PREFIX);
  const roles = ['admin'];
  const outcome = {
    identity: {
      id: 'static-token',
      tenantId: DEFAULT_TENANT_ID,
      roles,
      scopes: effectiveScopes([...GENERAL_SCOPES, ADMIN_SCOPE], roles),
      method: 'static_token',
    },
  };
  return {
    name: 'static_token',
    authenticate: ({ bearer }) => {
      // Most requests carry an API key: what begins like one cannot be another token, and needs no digest.
      if (bearer === undefined || (bearer.startsWith(API_KEY_PREFIX) && !looksLikeKey)) return undefined;
      return matches(bearer) ? outcome : undefined;
    },
  };
}

/**
 * Compares presented tokens with `token` in a time that tells nothing about it, not even its length: digests of equal
 * size are compared. Throws for an empty token, which every empty credential would equal.
 */
export function createTokenComparison(token: string): (presented: string) => boolean {
  if (token === '') throw new Error('a token to compare with must not be empty');
  const expected = hash('sha256', token, 'buffer');
  return (presented) => timingSafeEqual(hash('sha256', presented, 'buffer'), expected);
}
