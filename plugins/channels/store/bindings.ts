import type { Database, Page, TenantEntityManager } from 'agent-gateway';
import { rowsOf } from './apps.ts';
import { type BindingRow, BindingTable, SessionTable } from './tables.ts';

/** Which bindings are asked for; an absent member does not narrow. */
export interface BindingFilter {
  readonly tenantId?: string | undefined;
  readonly channelAppId?: string | undefined;
}

/** A page, newest first: of a tenant, or of all. */
export async function pageOfBindings(
  database: Pick<Database, 'system' | 'forTenant'>,
  { tenantId, channelAppId }: BindingFilter,
  page: Page,
): Promise<{ readonly bindings: readonly BindingRow[]; readonly total: number }> {
  const where = channelAppId === undefined ? {} : { channelAppId };
  const newest = { orderBy: { id: 'desc' }, ...page } as const;
  const [bindings, total] = await rowsOf(database, tenantId).findAndCount(BindingTable, where, newest);
  return { bindings, total };
}

/** The binding of an id, of this tenant or, where none is given, of any tenant. */
export async function findBinding(
  database: Pick<Database, 'system' | 'forTenant'>,
  id: string,
  tenantId: string | undefined,
): Promise<BindingRow | undefined> {
  return (await rowsOf(database, tenantId).findOne(BindingTable, { id })) ?? undefined;
}

/**
 * Records a login of a user of an app and returns the user's binding, which is `made` where there was none. Must be
 * called in a transaction, which locks the binding until it ends.
 */
export async function noteLogin(
  entities: TenantEntityManager,
  { tenantId: _, ...made }: BindingRow,
): Promise<BindingRow> {
  const { channelAppId, providerUserHash } = made;
  const conflict = ['channelAppId', 'providerUserHash'] as const;
  await entities.upsert(BindingTable, made, { conflict, update: ['lastLoginAt'] });
  return entities.findOneOrFail(BindingTable, { channelAppId, providerUserHash });
}

/**
 * Revokes a binding, again where it was revoked already, and ends the sessions of its user. To be called in a
 * transaction.
 */
export async function revokeBinding(
  entities: TenantEntityManager,
  { id, userId }: Pick<BindingRow, 'id' | 'userId'>,
  revokedAt: Date,
): Promise<void> {
  // The binding first: a login holds a lock on it, and has stored its session when the lock is released.
  await entities.update(BindingTable, { id }, { revokedAt });
  await entities.delete(SessionTable, { userId });
}
