import type { Access } from '../api/access.ts';
import { actingIdentity, type Caller, type Identity, isOperator, LOCAL_ANONYMOUS } from './identity.ts';
import { hasAnyRole } from './roles.ts';
import { ADMIN_SCOPE, hasAnyScope, requiredScopes } from './scopes.ts';

/** Whether a call may go on; `detail` is the sentence for the caller and names what is missing. */
export type Decision =
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: 'unauthenticated' }
  | { readonly allow: false; readonly reason: 'forbidden'; readonly detail: string };

const ALLOW: Decision = Object.freeze({ allow: true });
const UNAUTHENTICATED: Decision = Object.freeze({ allow: false, reason: 'unauthenticated' });

/**
 * The permission matrix: may `identity` call a route or method that states `access` (specification 1, Roles; decisions
 * 0.2, 0.6, 1.9)? `method` is the HTTP method; gRPC reads pass as `GET`. Pure; rules are interpreted here only.
 */
export function decide(access: Access, identity: Identity, method: string, caller: Caller): Decision {
  if (access.kind === 'public') return ALLOW;
  const acting = actingIdentity(access, identity, caller);
  if (acting.tenantId === '') return UNAUTHENTICATED;
  switch (access.kind) {
    case 'authenticated':
      return ALLOW;
    case 'credential':
      if (access.methods.includes(acting.method)) return ALLOW;
      return forbid(`This needs ${oneOf('credential', access.methods)}.`);
    case 'open': {
      const decision = requireScope(acting, scopesOf(access, method));
      // What protected mode does not open, a credential may.
      return decision.allow || acting !== LOCAL_ANONYMOUS ? decision : UNAUTHENTICATED;
    }
    case 'roles':
      if (!hasAnyRole(acting.roles, access.roles))
        return forbid(`This needs ${oneOf('role', access.roles)}.`);
      return requireScope(acting, scopesOf(access, method));
    case 'governance': {
      const decision = requireScope(acting, scopesOf(access, method));
      if (!decision.allow || !access.operator || isOperator(acting)) return decision;
      return forbid('Only administrators of the default tenant may do this.');
    }
  }
}

/** The scopes any one of which a rule asks for; none where it does not look at scopes. */
export function scopesOf(access: Access, method: string): readonly string[] {
  if (access.kind === 'public' || access.kind === 'authenticated' || access.kind === 'credential') return [];
  if (access.kind !== 'governance') return requiredScopes(access.scopes, method);
  // Without scopes for `admin` alone: the general scopes, which every key has, never open `/admin`.
  return [...(access.scopes.length === 0 ? [] : requiredScopes(access.scopes, method)), ADMIN_SCOPE];
}

function requireScope(identity: Identity, scopes: readonly string[]): Decision {
  return hasAnyScope(identity.scopes, scopes) ? ALLOW : forbid(`This needs ${oneOf('scope', scopes)}.`);
}

function forbid(detail: string): Decision {
  return { allow: false, reason: 'forbidden', detail };
}

function oneOf(noun: string, names: readonly string[]): string {
  return names.length === 1 ? `the ${noun} ${names[0]}` : `one of the ${noun}s ${names.join(', ')}`;
}
