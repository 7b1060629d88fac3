import { EVERYTHING, listedScopes } from './scopes.ts';

/** The roles that a credential may have, in the order in which they are shown (decisions 1.2). */
export const ROLES = [
  'user',
  'admin',
  'auditor',
  'tenant',
  'platform',
  'security',
  'billing',
  'ops',
  'owner',
] as const;

/** One of the nine roles. */
export type Role = (typeof ROLES)[number];

/**
 * The scopes that a role carries, whatever else its credential lists (decisions 1.9). `admin` has none for `/admin/*`:
 * there it needs the `admin` scope; `skills:write` is its by decisions 1.7.
 */
export const ROLE_SCOPES: Readonly<Record<Role, readonly string[]>> = {
  user: [],
  admin: ['skills:write'],
  auditor: ['audit:read'],
  tenant: ['tenant:*', 'key:*'],
  platform: ['tenant:*', 'key:*', 'ops:*', 'channel:*'],
  security: ['security:*', 'audit:read', 'sharing:*'],
  billing: ['billing:*'],
  ops: ['ops:*'],
  owner: [EVERYTHING],
};

/** The roles of `/v1` routes that administer the caller's own tenant (decisions 0.6). */
export const TENANT_ADMINISTRATION: readonly Role[] = ['admin', 'owner', 'tenant'];

/** True for one of the nine roles. */
export function isRole(name: string): name is Role {
  return Object.hasOwn(ROLE_SCOPES, name);
}

/**
 * True when a caller with the roles `held` passes a check for any one of `required`: it has one of them, or it is
 * `admin`, or the `owner` of its tenant. What lies outside the caller's tenant is not decided here but by `isOperator`.
 */
export function hasAnyRole(held: readonly string[], required: readonly string[]): boolean {
  return held.some((role) => role === 'admin' || role === 'owner' || required.includes(role));
}

/** What a credential may do in all: its listed scopes (none: the legacy three) and those that its roles carry. */
export function effectiveScopes(listed: readonly string[], roles: readonly string[]): ReadonlySet<string> {
  const carried = roles.flatMap((role) => (isRole(role) ? ROLE_SCOPES[role] : []));
  return new Set([...listedScopes(listed), ...carried]);
}
