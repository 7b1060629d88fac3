import type { EntityName, FilterQuery } from '@mikro-orm/core';
import type { Database } from 'agent-gateway';
import { type GeneRow, GeneTable, TenantSharingTable } from './tables.ts';

/** Tenants that one event reaches. */
const MAX_TENANTS = 1_000;

/** Tenants that have ever wanted to consume; the policies say whether they do now. */
export function consumers(database: Pick<Database, 'system'>): Promise<readonly string[]> {
  return tenantsIn(database, TenantSharingTable, { consumeShared: true }, MAX_TENANTS);
}

/**
 * Tenants that have ever wanted to contribute; the policies say whether they do now. Undefined where they are more than
 * one statement can name.
 */
export async function contributors(
  database: Pick<Database, 'system'>,
): Promise<readonly string[] | undefined> {
  const where = { contributionMode: { $ne: 'disabled' } };
  const tenants = await tenantsIn(database, TenantSharingTable, where, MAX_TENANTS + 1);
  return tenants.length > MAX_TENANTS ? undefined : tenants;
}

/** Tenants that have genes which match. */
export async function* holders(
  database: Pick<Database, 'system'>,
  where: FilterQuery<GeneRow>,
): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const next = { $and: [where, { tenantId: { $gt: after } }] };
    const tenants = await tenantsIn(database, GeneTable, next, MAX_TENANTS);
    yield* tenants;
    if (tenants.length < MAX_TENANTS) return;
    after = tenants.at(-1)!;
  }
}

/** The tenants of the rows that match, each once, in the order of their ids. */
async function tenantsIn(
  database: Pick<Database, 'system'>,
  table: typeof GeneTable | typeof TenantSharingTable,
  where: object,
  limit: number,
): Promise<readonly string[]> {
  const rows = await database
    .system()
    .createQueryBuilder(table as unknown as EntityName<{ tenantId: string }>)
    .select(['tenantId'])
    .where(where)
    .groupBy('tenantId')
    .orderBy({ tenantId: 'asc' })
    .limit(limit)
    .execute<{ tenantId: string }[]>('all');
  return rows.map(({ tenantId }) => tenantId);
}
