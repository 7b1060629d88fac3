import { type Identity, isOperator, TenantErrors } from 'agent-gateway';

/**
 * The one tenant that an administrator reaches, or `undefined` for operators, who reach all (decisions 0.6). It is the
 * `tenantId` that confines calls of the kernel's services.
 */
export function reachOf(identity: Identity): string | undefined {
  return isOperator(identity) ? undefined : identity.tenantId;
}

/** Throws `tenant.not-found` for a tenant out of reach: who may not see a tenant does not learn that it exists. */
export function requireReach(identity: Identity, tenantId: string): void {
  const reach = reachOf(identity);
  if (reach !== undefined && reach !== tenantId) throw TenantErrors.notFound();
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** True for text that can be the id of a record. What cannot is unknown without asking a database, which may refuse it. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** True for who may see and use what belongs to any user of his own tenant: its `admin`s and its `owner` (decisions 0.6, 1.6). */
export function isTenantAdmin({ roles }: Identity): boolean {
  return roles.includes('admin') || roles.includes('owner');
}
