/** The scopes of the tenant routes: safe methods, unsafe methods, runs of chats, tools, workflows (decisions 1.9). */
export const GENERAL_SCOPES: readonly string[] = ['read', 'write', 'execute'];

/** The break-glass scope: it passes every scope check, and is listed explicitly only (specification 1, API key). */
export const ADMIN_SCOPE = 'admin';

/** Carried by the role `owner`: every scope but `admin`. It cannot be listed on a credential. */
export const EVERYTHING = '*';

/** What each family of scopes is divided into. `<family>:*` covers all of them. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  audit: ['read'],
  billing: ['read', 'write'],
  channel: ['read', 'write'],
  key: ['read', 'write'],
  ops: ['read', 'write'],
  security: ['read', 'write'],
  sharing: ['read', 'write'],
  skills: ['read', 'write'],
  tenant: ['read', 'write'],
  usage: ['read'],
  workflow: ['read', 'write', 'publish', 'run', 'cancel'],
};

/** Scopes from before the families; `audit` counts as `audit:read`. */
const LEGACY_SCOPES: readonly string[] = [ADMIN_SCOPE, 'audit', 'gdpr'];

/** Every scope that may be listed on a credential; plugins' routes may name more. */
export const KNOWN_SCOPES: ReadonlySet<string> = new Set([
  ...GENERAL_SCOPES,
  ...LEGACY_SCOPES,
  ...Object.entries(FAMILIES).flatMap(([family, actions]) =>
    ['*', ...actions].map((action) => `${family}:${action}`),
  ),
]);

/**
 * The scopes that a credential's own list stands for. An empty list marks a legacy key: all three general scopes, never
 * `admin` (specification 1, API key).
 */
export function listedScopes(listed: readonly string[]): readonly string[] {
  if (listed.length === 0) return GENERAL_SCOPES;
  return listed.includes('audit') ? [...listed, 'audit:read'] : listed;
}

/** True when `held` covers `required`: by name, by its family's `x:*`, by an owner's everything, or by `admin`. */
export function hasScope(held: ReadonlySet<string>, required: string): boolean {
  if (held.has(required) || held.has(ADMIN_SCOPE)) return true;
  if (required === ADMIN_SCOPE) return false;
  return held.has(EVERYTHING) || held.has(familyOf(required));
}

/** True when any one of `required` is covered. */
export function hasAnyScope(held: ReadonlySet<string>, required: readonly string[]): boolean {
  return required.some((scope) => hasScope(held, scope));
}

/**
 * The scopes that a rule asks of a method. An empty list is the general scope: `read` for GET and HEAD, else `write`.
 * A rule's `x:*` asks for `x:read` or `x:write` in the same way.
 */
export function requiredScopes(ruled: readonly string[], method: string): readonly string[] {
  const general = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
  if (ruled.length === 0) return general === 'read' ? READ : WRITE;
  if (!ruled.some((scope) => scope.endsWith(':*'))) return ruled;
  return ruled.map((scope) => (scope.endsWith(':*') ? `${scope.slice(0, -1)}${general}` : scope));
}

const READ: readonly string[] = ['read'];
const WRITE: readonly string[] = ['write'];

/** `x:*` for `x:read`; empty for a scope without a family. */
function familyOf(scope: string): string {
  const colon = scope.indexOf(':');
  return colon <= 0 ? '' : `${scope.slice(0, colon)}:*`;
}
