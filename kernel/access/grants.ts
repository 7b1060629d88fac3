import { defineErrors, type FieldError } from '../../foundation/base/gateway-error.ts';
import { DEFAULT_TENANT_ID, type Identity, isOperator, OPERATOR_ROLES } from './identity.ts';
import { isRole, ROLE_SCOPES, ROLES } from './roles.ts';
import { hasScope, KNOWN_SCOPES, listedScopes } from './scopes.ts';

/** The roles and scopes of a credential that is to be made. */
export interface Grant {
  readonly roles: readonly string[];
  /** As listed; an empty list stands for the three general scopes. */
  readonly scopes: readonly string[];
}

/** Everything that is wrong with a grant. Both lists empty: it may be made. */
export interface GrantProblems {
  /** Roles and scopes that do not exist. */
  readonly unknown: readonly FieldError[];
  /** Roles and scopes that the granter does not have. */
  readonly refused: readonly FieldError[];
}

/** What can be wrong with a grant. */
export const GrantErrors = defineErrors({
  unknown: { code: 'auth.grant-unknown', kind: 'invalid', title: 'There is no such role or scope' },
  refused: {
    code: 'auth.grant-refused',
    kind: 'forbidden',
    title: 'A caller cannot grant a role or scope that it does not have',
  },
});

/**
 * What keeps `granter` from making a credential with this grant (decisions 1.2). Role `admin` may grant every role, an
 * `owner` also `user`, every other granter the roles that it has. A granter may grant a scope that it has, or that a
 * role which it may grant carries; `admin` only when it has it. `also` names scopes of plugins' routes as well.
 */
export function grantProblems(
  granter: Identity,
  grant: Grant,
  also: ReadonlySet<string> = NONE,
): GrantProblems {
  const unknown: FieldError[] = [];
  const refused: FieldError[] = [];
  for (const [index, role] of grant.roles.entries()) {
    if (!isRole(role)) unknown.push(problem('roles', index, 'is not a role'));
    else if (!mayGrantRole(granter, role))
      refused.push(problem('roles', index, `you do not have the role ${role}`));
  }
  const grantable = grantableScopes(granter);
  for (const [index, scope] of grant.scopes.entries()) {
    if (!KNOWN_SCOPES.has(scope) && !also.has(scope))
      unknown.push(problem('scopes', index, 'is not a scope'));
    else if (!hasScope(grantable, scope))
      refused.push(problem('scopes', index, `you do not have the scope ${scope}`));
  }
  if (grant.scopes.length === 0) {
    const missing = listedScopes([]).filter((scope) => !hasScope(grantable, scope));
    if (missing.length > 0) {
      refused.push({
        pointer: '/body/scopes',
        message: `an empty list grants read, write and execute; you do not have ${missing.join(', ')}`,
      });
    }
  }
  return { unknown, refused };
}

/**
 * Throws unless `granter` may make a credential with this grant; the error lists all problems together. Asked before a
 * key is created, and before one is rotated: the receiver of the new raw key gets its permissions.
 */
export function requireGrant(granter: Identity, grant: Grant, also?: ReadonlySet<string>): void {
  const { unknown, refused } = grantProblems(granter, grant, also);
  if (unknown.length > 0) throw GrantErrors.unknown(undefined, { errors: [...unknown, ...refused] });
  if (refused.length > 0) throw GrantErrors.refused(undefined, { errors: refused });
}

const NONE: ReadonlySet<string> = new Set();

function mayGrantRole(granter: Identity, role: string): boolean {
  if (granter.roles.includes('admin')) return true;
  if (granter.roles.includes('owner') && role === 'user') return true;
  // An owner of the default tenant has every scope there; with a governance role they would reach all tenants.
  const isConfined = granter.tenantId === DEFAULT_TENANT_ID && !isOperator(granter);
  return granter.roles.includes(role) && !(isConfined && OPERATOR_ROLES.has(role));
}

/** What the granter has, and what a credential with the roles that it may grant would have. */
function grantableScopes(granter: Identity): ReadonlySet<string> {
  const roles = ROLES.filter((role) => mayGrantRole(granter, role));
  return new Set([...granter.scopes, ...roles.flatMap((role) => ROLE_SCOPES[role])]);
}

function problem(field: 'roles' | 'scopes', index: number, message: string): FieldError {
  return { pointer: `/body/${field}/${index}`, message };
}
