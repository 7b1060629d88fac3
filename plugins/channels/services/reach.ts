import { type Identity, isOperator, isUuid, TenantErrors, type Tenants } from 'agent-gateway';

/** The one tenant that an administrator reaches, or `undefined` for operators, who reach all (decisions 0.6). */
export function reachOf(identity: Identity): string | undefined {
  return isOperator(identity) ? undefined : identity.tenantId;
}

/**
 * The tenant whose records are shown to a caller who asks for those of `wanted`. Undefined stands for all tenants: operators who name none get
 * all. Null where `wanted` is out of reach, or no id: there is nothing to show.
 */
export function narrowedTo(identity: Identity, wanted: string | undefined): string | undefined | null {
  const reach = reachOf(identity);
  if (wanted === undefined) return reach;
  return isUuid(wanted) && (reach === undefined || reach === wanted) ? wanted : null;
}

/** Throws `tenant.not-found`, and `tenant.deleted` for a deleted tenant, which gets nothing new. */
export async function requireLiving(tenants: Pick<Tenants, 'get'>, tenantId: string): Promise<void> {
  const tenant = isUuid(tenantId) ? await tenants.get(tenantId) : undefined;
  if (tenant === undefined) throw TenantErrors.notFound();
  if (tenant.deletedAt !== null) throw TenantErrors.isDeleted();
}
