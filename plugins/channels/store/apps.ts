import { LockMode } from '@mikro-orm/core';
import type { Database, Page, TenantEntityManager } from 'agent-gateway';
import type { Platform } from '../contract.ts';
import { type AppRow, AppTable, BindingTable, LinkTable, SessionTable, StateTable } from './tables.ts';

/** The app of a platform and key, of any tenant: public routes name nothing else. */
export async function findAppByKey(
  database: Pick<Database, 'system'>,
  platform: Platform,
  appKey: string,
): Promise<AppRow | undefined> {
  return (await database.system().findOne(AppTable, { platform, appKey })) ?? undefined;
}

/** The rows of a tenant or, where none is given, of all. */
export function rowsOf(
  database: Pick<Database, 'system' | 'forTenant'>,
  tenantId: string | undefined,
): Pick<TenantEntityManager, 'findOne' | 'findAndCount'> {
  return tenantId === undefined ? database.system() : database.forTenant(tenantId);
}

/** The app of an id, of this tenant or, where none is given, of any tenant. */
export async function findApp(
  database: Pick<Database, 'system' | 'forTenant'>,
  id: string,
  tenantId: string | undefined,
): Promise<AppRow | undefined> {
  return (await rowsOf(database, tenantId).findOne(AppTable, { id })) ?? undefined;
}

/** The app, which stays as it is until the transaction ends. */
export async function lockApp(entities: TenantEntityManager, id: string): Promise<AppRow | undefined> {
  return (await entities.findOne(AppTable, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
}

/** A page, newest first: of a tenant, or of all. */
export async function pageOfApps(
  database: Pick<Database, 'system' | 'forTenant'>,
  tenantId: string | undefined,
  page: Page,
): Promise<{ readonly apps: readonly AppRow[]; readonly total: number }> {
  const newest = { orderBy: { id: 'desc' }, ...page } as const;
  const [apps, total] = await rowsOf(database, tenantId).findAndCount(AppTable, {}, newest);
  return { apps, total };
}

/** Deletes an app with its bindings, links and sessions. False where there is none. To be called in a transaction. */
export async function deleteApp(entities: TenantEntityManager, id: string): Promise<boolean> {
  // The app first: a login holds a lock on it.
  if ((await entities.delete(AppTable, { id })) === 0) return false;
  const itsOwn = { channelAppId: id };
  await entities.delete(BindingTable, itsOwn);
  await entities.delete(SessionTable, itsOwn);
  await entities.delete(LinkTable, itsOwn);
  await entities.delete(StateTable, itsOwn);
  return true;
}
