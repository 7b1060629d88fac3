import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { forgetContributor } from '../store/genes.ts';
import { TenantSharingTable } from '../store/tables.ts';

/**
 * Sharing policies belong to the tenant and name their authors; an erased user's name is replaced by a pseudonym. When
 * a tenant is purged, other tenants keep the genes that it contributed, without its name.
 */
export function createSharingData(database: Pick<Database, 'forTenant' | 'system'>): PersonalData {
  return {
    name: 'evolution',
    sections: [
      {
        name: 'sharing_policies',
        entities: [TenantSharingTable],
        async *read({ tenantId, userId }) {
          if (userId !== undefined) return;
          const entities = database.forTenant(tenantId);
          for await (const row of eachRow(entities, TenantSharingTable, {}, { by: ['id'] })) {
            const { version, labels, reason, updatedBy: updated_by, updatedAt: updated_at } = row;
            const { consumeShared: consume_shared, contributionMode: contribution_mode } = row;
            yield { version, consume_shared, contribution_mode, labels, reason, updated_by, updated_at };
          }
        },
      },
    ],
    async erase(entities, { userId, pseudonym }): Promise<Record<string, number>> {
      if (userId === undefined) return { sharing_policies: await entities.erase(TenantSharingTable, {}) };
      await entities.update(TenantSharingTable, { updatedBy: userId }, { updatedBy: pseudonym });
      return {};
    },
    purge: (tenantId, signal) => forgetContributor(database, tenantId, signal),
  };
}
