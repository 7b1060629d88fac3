import { ADMIN_SCOPE } from './scopes.ts';

/** The tenant that exists from the first start; its administrators are the operators of the deployment (decisions 0.6). */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/** How a caller proved who he is. Plugins add their own (`channel_session`). */
export type AuthMethod = 'static_token' | 'api_key' | 'jwt' | 'anonymous' | 'rejected' | (string & {});

/** Who is calling, as derived from the credential alone (specification 1, Authentication). */
export interface Identity {
  /** User id or API key id. */
  readonly id: string;
  /** Always from the credential, never from a header. Empty for a caller without a valid one. */
  readonly tenantId: string;
  readonly roles: readonly string[];
  /** Effective scopes: those of the credential together with those its roles carry. Ask with `hasScope`: `x:*` covers `x:read`. */
  readonly scopes: ReadonlySet<string>;
  readonly method: AuthMethod;
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
 * True for callers who reach across tenants, and then within their scopes: the default tenant's `admin` role or scope and
 * its governance roles (decisions 0.6). Its users are not operators, and neither is its `owner`, who has everything of his
 * own tenant only, also when he holds a governance role beside it.
 */
export function isOperator(identity: Identity): boolean {
  if (identity.tenantId !== DEFAULT_TENANT_ID) return false;
  if (identity.scopes.has(ADMIN_SCOPE) || identity.roles.includes('admin')) return true;
  return !identity.roles.includes('owner') && identity.roles.some((role) => OPERATOR_ROLES.has(role));
}
