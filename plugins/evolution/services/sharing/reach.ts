import { type Identity, isOperator, isUuid, TenantErrors, type Tenants } from 'agent-gateway';

/** The one tenant that an administrator reaches, or `undefined` for operators, who reach all (decisions 0.6). */
export function reachOf(identity: Identity): string | undefined {
  return isOperator(identity) ? undefined : identity.tenantId;
}

/** Throws `tenant.not-found` for a tenant out of reach or unknown; with `living` also `tenant.deleted`. */
export async function requireTenant(
  tenants: Pick<Tenants, 'get'>,
  identity: Identity,
  tenantId: string,
  options: { readonly living: boolean },
): Promise<void> {
  const reach = reachOf(identity);
  const isReached = isUuid(tenantId) && (reach === undefined || reach === tenantId);
  const record = isReached ? await tenants.get(tenantId) : undefined;
  if (record === undefined) throw TenantErrors.notFound();
  if (options.living && record.deletedAt !== null) throw TenantErrors.isDeleted();
}
