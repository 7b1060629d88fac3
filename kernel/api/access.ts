import { nearestName, onlyKnown } from '../../foundation/base/nearest-name.ts';
import { isRole, ROLES } from '../access/roles.ts';

/**
 * Who may call a route or method. Every one states a rule: without it nothing mounts.
 *
 * - `public`: anybody, a wrong credential does not matter.
 * - `open`: any credential, and without one only callers on the loopback interface, as the default tenant (decisions
 *   0.2).
 * - `authenticated`: any valid credential, whatever its roles.
 * - `credential`: a valid credential of one of these kinds, whatever its roles: for routes whose callers sign their
 *   requests.
 * - `roles`: one of the roles (`admin` and, in its own tenant, `owner` pass) and one of the scopes.
 * - `governance`: one of the scopes, or the break-glass scope `admin`; with `operator` only from the default tenant.
 */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'open'; readonly scopes: readonly string[] }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'credential'; readonly methods: readonly string[] }
  | { readonly kind: 'roles'; readonly roles: readonly string[]; readonly scopes: readonly string[] }
  | { readonly kind: 'governance'; readonly scopes: readonly string[]; readonly operator: boolean };

/** Rules by name, for route definitions. Empty `scopes` means: the general scope of the method (`read` or `write`). */
export const access = {
  public: (): Access => ({ kind: 'public' }),
  open: (scopes: readonly string[] = []): Access => ({ kind: 'open', scopes }),
  authenticated: (): Access => ({ kind: 'authenticated' }),
  /** `access.credential('acme_hook')`: the `method` of an authenticator's identities, whose tenant the call has. */
  credential: (...methods: readonly string[]): Access => ({ kind: 'credential', methods }),
  /** `access.role('user', { scopes: ['execute'] })`; the caller needs any one of the scopes. */
  role: (role: string | readonly string[], options: { scopes?: readonly string[] } = {}): Access => ({
    kind: 'roles',
    roles: (typeof role === 'string' ? [role] : role).map(spelled),
    scopes: onlyKnown('access.role', options, ['scopes']).scopes ?? [],
  }),
  governance: (scopes: readonly string[], options: { operator?: boolean } = {}): Access => ({
    kind: 'governance',
    scopes,
    operator: onlyKnown('access.governance', options, ['operator']).operator ?? false,
  }),
} as const;

/** Authenticators may have roles of their own; one that nearly has the name of a known role would let nobody in. */
function spelled(role: string): string {
  const meant = isRole(role) ? undefined : nearestName(role, ROLES);
  if (meant !== undefined) throw new Error(`there is no role "${role}", did you mean "${meant}"?`);
  return role;
}
