import type { Access } from '../api/access.ts';
import { ADMIN_SCOPE, GENERAL_SCOPES } from './scopes.ts';

/** The tenant of the first start; its administrators are the operators of the deployment (decisions 0.6). */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/** How a caller proved its identity. Plugins add their own (`channel_session`). */
type AuthMethod = 'static_token' | 'api_key' | 'jwt' | 'anonymous' | 'rejected' | (string & {});

/** Who is calling, as derived from the credential alone (specification 1, Authentication). */
export interface Identity {
  /** User id or API key id. */
  readonly id: string;
  /** Always from the credential, never from a header. Empty for a caller without a valid one. */
  readonly tenantId: string;
  readonly roles: readonly string[];
  /** Effective scopes: the credential's and those of its roles. Ask with `hasScope`: `x:*` covers `x:read`. */
  readonly scopes: ReadonlySet<string>;
  readonly method: AuthMethod;
  /** Its calls use up nothing of the tenant's window, but that of their address: it is nobody of the tenant. */
  readonly countsApart?: boolean;
}

/** The roles that make a credential of the default tenant an operator. */
export const OPERATOR_ROLES: ReadonlySet<string> = new Set([
  'admin',
  'auditor',
  'tenant',
  'platform',
  'security',
  'billing',
  'ops',
]);

/**
 * True for callers who reach across tenants, and then within their scopes: the default tenant's `admin` role or scope
 * and its governance roles (decisions 0.6). Its users are not operators, and neither is its `owner`, who has everything
 * of the default tenant only, even with a governance role as well.
 */
export function isOperator(identity: Identity): boolean {
  if (identity.tenantId !== DEFAULT_TENANT_ID) return false;
  if (identity.scopes.has(ADMIN_SCOPE) || identity.roles.includes('admin')) return true;
  return !identity.roles.includes('owner') && identity.roles.some((role) => OPERATOR_ROLES.has(role));
}

/** A caller who presented no credential. Belongs to no tenant. */
export const ANONYMOUS: Identity = Object.freeze({
  id: 'anonymous',
  tenantId: '',
  roles: Object.freeze([]),
  scopes: new Set<string>(),
  method: 'anonymous',
});

/** A caller whose credential does not hold. Unlike `ANONYMOUS` it is never served as the default tenant. */
export const REJECTED: Identity = Object.freeze({ ...ANONYMOUS, method: 'rejected' });

/** Callers whom protected mode serves without a credential: users of the default tenant, no role (decisions 0.2). */
export const LOCAL_ANONYMOUS: Identity = Object.freeze({
  ...ANONYMOUS,
  tenantId: DEFAULT_TENANT_ID,
  scopes: new Set(GENERAL_SCOPES),
});

/** What the transport knows about the caller's connection. */
export interface Caller {
  /** True for a connection from the loopback interface that shows no sign of a proxy (decisions 0.2). */
  readonly loopback: boolean;
  /** `SVC_ALLOW_ANONYMOUS`: true serves every caller without a credential, false none, `undefined` loopback only. */
  readonly anonymousAllowed: boolean | undefined;
}

/**
 * As whom a request goes on: on `open` routes a caller without a credential becomes `LOCAL_ANONYMOUS` where protected
 * mode allows it; every other caller keeps its identity. Asked before the tenant is looked up, and again by `decide`.
 */
export function actingIdentity(access: Access, identity: Identity, caller: Caller): Identity {
  if (identity.method !== 'anonymous') return identity;
  const served = access.kind === 'open' && (caller.anonymousAllowed ?? caller.loopback);
  return served ? LOCAL_ANONYMOUS : ANONYMOUS;
}
