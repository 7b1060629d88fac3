import type { Access } from '../api/access.ts';
import { DEFAULT_TENANT_ID, type Identity } from './identity.ts';
import { GENERAL_SCOPES } from './scopes.ts';

/** A caller who presented no credential. Belongs to no tenant. */
export const ANONYMOUS: Identity = Object.freeze({
  id: 'anonymous',
  tenantId: '',
  roles: Object.freeze([]),
  scopes: new Set<string>(),
  method: 'anonymous',
});

/** A caller who presented a credential that does not hold. Unlike `ANONYMOUS` he is never served as the default tenant. */
export const REJECTED: Identity = Object.freeze({ ...ANONYMOUS, method: 'rejected' });

/** Whom protected mode serves without a credential: a user of the default tenant without any role (decisions 0.2). */
export const LOCAL_ANONYMOUS: Identity = Object.freeze({
  ...ANONYMOUS,
  tenantId: DEFAULT_TENANT_ID,
  scopes: new Set(GENERAL_SCOPES),
});

/** What the transport knows about the caller's connection. */
export interface Caller {
  /** True for a connection from the loopback interface that carries no `X-Forwarded-For` or `Forwarded` (decisions 0.2). */
  readonly loopback: boolean;
  /** `SVC_ALLOW_ANONYMOUS`: true serves everybody, false nobody, `undefined` loopback callers only. */
  readonly anonymousAllowed: boolean | undefined;
}

/**
 * As whom a request goes on: on `open` routes a caller without a credential becomes `LOCAL_ANONYMOUS` where protected mode
 * allows it; everybody else stays who he is. Asked before the tenant is looked up, and again by `decide`.
 */
export function actingIdentity(access: Access, identity: Identity, caller: Caller): Identity {
  if (identity.method !== 'anonymous') return identity;
  const served = access.kind === 'open' && (caller.anonymousAllowed ?? caller.loopback);
  return served ? LOCAL_ANONYMOUS : ANONYMOUS;
}
