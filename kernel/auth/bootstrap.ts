import { LockMode } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { ApiKey } from '../../foundation/tables/api-key.ts';
import { Tenant } from '../../foundation/tables/tenant.ts';
import { DEFAULT_TENANT_ID } from '../access/identity.ts';
import { ADMIN_SCOPE, GENERAL_SCOPES } from '../access/scopes.ts';
import { BootstrapErrors } from './errors.ts';

/** What the operator says about the first key (decisions 1.3). */
export interface BootstrapSettings {
  readonly name: string;
  readonly expiresAt: Date | null;
}

/** Keys that are read at a time. */
const PAGE = 200;

/** What the first key may do, and for whom. */
export const FIRST_KEY = {
  tenantId: DEFAULT_TENANT_ID,
  roles: ['admin'],
  scopes: [...GENERAL_SCOPES, ADMIN_SCOPE],
  createdBy: null,
} as const;

/**
 * Throws `bootstrap.completed` where the default tenant has an administrator. In the caller's transaction: the row of
 * the tenant is the lock, which callers take before they look for keys; on SQLite the transaction is.
 */
export async function requireNoAdmin(entities: SqlEntityManager, now: Date): Promise<void> {
  await entities.findOneOrFail(Tenant, { id: DEFAULT_TENANT_ID }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (await hasUsableAdmin(entities, DEFAULT_TENANT_ID, now)) throw BootstrapErrors.completed();
}

/** True while the tenant has a key with role `admin` that is neither revoked nor expired (decisions 1.3). */
export async function hasUsableAdmin(
  entities: SqlEntityManager,
  tenantId: string,
  now: Date,
): Promise<boolean> {
  // Roles are JSON, which the families search in three ways; the administrators are mostly on the first page.
  for (let after = ''; ; ) {
    const page = await entities.find(
      ApiKey,
      {
        tenantId,
        id: { $gt: after },
        revokedAt: null,
        $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }],
      },
      { orderBy: { id: 'asc' }, limit: PAGE, fields: ['id', 'roles'], disableIdentityMap: true },
    );
    if (page.some(({ roles }) => roles.includes('admin'))) return true;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return false;
    after = last.id;
  }
}
