import type { Clock } from '../../foundation/base/clock.ts';
import { API_KEY_PREFIX, hashApiKey } from './api-key-store.ts';
import type { Authenticator, Outcome } from './authenticator.ts';
import type { IdentityCache, KnownKey } from './identity-cache.ts';

/** Characters of a raw key at most. Ours have 46; the rest is room for keys that were imported. */
const MAX_KEY_LENGTH = 256;

const UNKNOWN: Outcome = { failure: 'unknown' };

/** Recognizes `Authorization: Bearer hk_…`. Expiry is checked at every request, revocation by the cache. */
export function createApiKeyAuthenticator({
  identities,
  clock,
  touch,
}: {
  readonly identities: Pick<IdentityCache, 'get'>;
  readonly clock: Clock;
  /** Notes that a key was used; must return at once. */
  readonly touch: (keyId: string) => void;
}): Authenticator {
  function judge(key: KnownKey | undefined): Outcome {
    if (key === undefined) return UNKNOWN;
    const { identity } = key;
    if (key.isRevoked) return { failure: 'revoked', tenantId: identity.tenantId, identityId: identity.id };
    if (key.expiresAt <= clock.now()) {
      return { failure: 'expired', tenantId: identity.tenantId, identityId: identity.id };
    }
    touch(identity.id);
    return { identity };
  }

  return {
    name: 'api_key',
    authenticate({ bearer }) {
      if (bearer === undefined || !bearer.startsWith(API_KEY_PREFIX)) return undefined;
      if (bearer.length > MAX_KEY_LENGTH) return UNKNOWN;
      const known = identities.get(hashApiKey(bearer));
      return known instanceof Promise ? known.then(judge) : judge(known);
    },
  };
}
