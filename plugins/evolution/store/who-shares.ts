import type { Database } from 'agent-gateway';
import { GeneTable, TenantSharingTable } from './tables.ts';

/** Tenants that one event reaches. */
const MAX_TENANTS = 1_000;

/** Tenants that have ever wanted to consume; the policies say whether they do now. */
export async function* consumers(database: Pick<Database, 'system'>): AsyncGenerator<string> {
  for (let [last, found] = ['', 0]; found < MAX_TENANTS; found += 1) {
    const [policy] = await database
      .system()
      .find(
        TenantSharingTable,
        { consumeShared: true, tenantId: { $gt: last } },
        { fields: ['tenantId'], orderBy: { tenantId: 'asc' }, limit: 1 },
      );
    if (policy === undefined) return;
    last = policy.tenantId;
    yield last;
  }
}

/**
 * Tenants that have ever wanted to contribute; the policies say whether they do now. Undefined where they are more than
 * one statement can name.
 */
export async function contributors(
  database: Pick<Database, 'system'>,
): Promise<readonly string[] | undefined> {
  const rows = await database
    .system()
    .createQueryBuilder(TenantSharingTable)
    .select(['tenantId'])
    .where({ contributionMode: { $ne: 'disabled' } })
    .groupBy('tenantId')
    .limit(MAX_TENANTS + 1)
    .execute<{ tenantId: string }[]>('all');
  return rows.length > MAX_TENANTS ? undefined : rows.map(({ tenantId }) => tenantId);
}

/** Tenants that have imported a gene with this content. */
export async function* holders(
  database: Pick<Database, 'system'>,
  contentHash: string,
): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const [gene] = await database
      .system()
      .find(
        GeneTable,
        { source: 'hub', contentHash, state: { $ne: 'revoked' }, tenantId: { $gt: last } },
        { fields: ['tenantId'], orderBy: { tenantId: 'asc' }, limit: 1 },
      );
    if (gene === undefined) return;
    last = gene.tenantId;
    yield last;
  }
}
