import type { Call } from 'agent-gateway';

/** Whose memories and profile a call is about: `X-Svc-User-Id`, or the credential's identity where it is absent or empty. */
export function userOf({ userId, identity }: Pick<Call, 'userId' | 'identity'>): string {
  return userId || identity.id;
}
