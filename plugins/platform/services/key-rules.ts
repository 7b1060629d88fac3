import {
  ADMIN_SCOPE,
  defineErrors,
  type FieldError,
  type Grant,
  GrantErrors,
  grantProblems,
  type Identity,
  isOperator,
  KernelErrors,
} from 'agent-gateway';

/** What the rules about API keys refuse. */
export const KeyRuleErrors = defineErrors({
  foreignTenant: {
    code: 'api-key.foreign-tenant',
    kind: 'forbidden',
    title: 'Keys of another tenant are made by administrators of the default tenant only',
  },
});

/**
 * The tenant of a key whose creator names `wanted` in the body. The name counts for administrators of the default tenant
 * only; everybody else's keys belong to his own tenant, and `api-key.foreign-tenant` says so (specification 1, API keys;
 * decisions 0.6).
 */
export function tenantOfNewKey(identity: Identity, wanted: string | undefined): string {
  if (wanted === undefined || wanted === identity.tenantId) return identity.tenantId;
  const isAdmin = identity.roles.includes('admin') || identity.scopes.has(ADMIN_SCOPE);
  if (isOperator(identity) && isAdmin) return wanted;
  throw KeyRuleErrors.foreignTenant(undefined, {
    errors: [{ pointer: '/body/tenant_id', message: 'is not your own tenant' }],
  });
}

/**
 * Throws unless `granter` may make a key with this grant and expiry: 400 with all that is wrong, else 403 with all that
 * may not be granted (decisions 1.2). `also` names scopes of routes that the kernel does not know by itself.
 */
export function requireNewKey(
  granter: Identity,
  key: { readonly grant: Grant; readonly expiresAt: Date | null },
  now: number,
  also: ReadonlySet<string>,
): void {
  const { unknown, refused } = grantProblems(granter, key.grant, also);
  const invalid = [...unknown, ...expiryProblems(key.expiresAt, now)];
  if (invalid.length > 0) throw KernelErrors.invalidRequest(undefined, { errors: [...invalid, ...refused] });
  if (refused.length > 0) throw GrantErrors.refused(undefined, { errors: refused });
}

/** What is wrong with the moment at which a new key is to expire; `null` is never. */
export function expiryProblems(expiresAt: Date | null, now: number): readonly FieldError[] {
  if (expiresAt === null || expiresAt.getTime() > now) return [];
  return [{ pointer: '/body/expires_at', message: 'must be in the future' }];
}
