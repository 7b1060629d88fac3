import type { Call, Identity } from 'agent-gateway';
import type { OwnerReader } from './ownership.ts';
import type { Principal } from './principal.ts';

/** True for who may see and use what belongs to any user of his own tenant: its `admin`s and its `owner` (decisions 0.6, 1.6). */
export function isTenantAdmin({ roles }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner');
}

/** Whose memories and profile a call is about: `X-Svc-User-Id`, or the credential's identity where it is absent or empty. */
export function userOf({ userId, identity }: Pick<Call, 'userId' | 'identity'>): string {
  return userId || identity.id;
}

/** For whom a call works. */
export function principalOf(call: Pick<Call, 'userId' | 'identity' | 'tenant'>): Principal {
  return { tenantId: call.tenant.id, identityId: call.identity.id, userId: userOf(call) };
}

/** Who asks: the credential's identity, and the user that it speaks for. */
export function readerOf({ identity, userId }: Pick<Call, 'identity' | 'userId'>): OwnerReader {
  return { identityId: identity.id, userId: userId || undefined, isAdmin: isTenantAdmin(identity) };
}
