import { isUuid } from '../../foundation/base/ids.ts';
import { TenantErrors } from '../../foundation/tables/tenant.ts';
import type { TenantRecord, Tenants } from '../tenancy/tenants.ts';
import { type Identity, isOperator } from './identity.ts';

/**
 * The one tenant that an administrator reaches, or `undefined` for operators, who reach all (decisions 0.6). It is the
 * `tenantId` that confines calls of the kernel's services.
 */
export function reachOf(identity: Identity): string | undefined {
  return isOperator(identity) ? undefined : identity.tenantId;
}

/**
 * The tenant whose records are shown to a caller who asks for those of `wanted`. Undefined stands for all tenants:
 * operators who name none get all. Null where `wanted` is out of reach, or no id: there is nothing to show.
 */
export function narrowedTo(identity: Identity, wanted: string | undefined): string | undefined | null {
  const reach = reachOf(identity);
  if (wanted === undefined) return reach;
  return isUuid(wanted) && (reach === undefined || reach === wanted) ? wanted : null;
}

/** Throws `tenant.not-found` for a tenant out of reach: callers that may not see it must not learn that it exists. */
export function requireReach(identity: Identity, tenantId: string): void {
  const reach = reachOf(identity);
  if (reach !== undefined && reach !== tenantId) throw TenantErrors.notFound();
}

/** A tenant within reach, deleted ones too. Throws `tenant.not-found`. */
export async function reachedTenant(
  tenants: Pick<Tenants, 'get'>,
  identity: Identity,
  tenantId: string,
): Promise<TenantRecord> {
  requireReach(identity, tenantId);
  const record = isUuid(tenantId) ? await tenants.get(tenantId) : undefined;
  if (record === undefined) throw TenantErrors.notFound();
  return record;
}

/** The same of a tenant that is to get something new. Throws `tenant.not-found`, `tenant.deleted`. */
export async function livingTenant(
  tenants: Pick<Tenants, 'get'>,
  identity: Identity,
  tenantId: string,
): Promise<TenantRecord> {
  const record = await reachedTenant(tenants, identity, tenantId);
  if (record.deletedAt !== null) throw TenantErrors.isDeleted();
  return record;
}
