import { LockMode } from '@mikro-orm/core';
import { type Clock, type Database, type Ids, RETRY_RACES } from 'agent-gateway';
import { GeneDecided, type SharedKnowledge, type SharedKnowledgeFilter } from '../contract.ts';
import { revokeGenes } from './genes.ts';
import { GeneTable } from './tables.ts';
import { holders } from './who-shares.ts';

/** Genes of one transaction. */
const BATCH = 200;

/** The shared knowledge in the tables of genes. */
export function createSharedKnowledge(options: {
  readonly database: Pick<Database, 'system' | 'forTenant'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly events: { emit(event: typeof GeneDecided, data: { tenantId: string }): void };
}): SharedKnowledge {
  const { database, clock, ids, events } = options;

  /** Revokes a batch of a tenant with its tombstones, all or none. Returns their number. */
  function revokeBatch(tenantId: string, where: ReturnType<typeof matching>, reason: string) {
    return database.forTenant(tenantId).transaction(async (entities) => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' }, limit: BATCH } as const;
      const genes = await entities.find(GeneTable, where, lock);
      await revokeGenes(entities, genes, reason, { clock, ids });
      return genes.length;
    }, RETRY_RACES);
  }

  return {
    async revoke(filter, reason) {
      const where = matching(filter, new Date(clock.now()));
      let revoked = 0;
      const { tenantId: only } = filter;
      for await (const tenantId of only === undefined ? holders(database, where) : [only]) {
        for (let batch = BATCH; batch === BATCH; ) {
          batch = await revokeBatch(tenantId, where, reason);
          revoked += batch;
        }
        events.emit(GeneDecided, { tenantId });
      }
      return revoked;
    },
  };
}

/** Genes that arrive after the revocation began are not part of it, so that it ends. */
function matching({ taskClass, sourceTenant, source, from, to }: SharedKnowledgeFilter, now: Date) {
  const until = to === undefined || to > now ? now : to;
  return {
    state: { $ne: 'revoked' as const },
    $or: [{ source: 'hub' as const }, { contributor: { $ne: null } }],
    createdAt: from === undefined ? { $lte: until } : { $gte: from, $lte: until },
    ...(taskClass === undefined ? {} : { taskClass }),
    ...(sourceTenant === undefined ? {} : { contributor: sourceTenant }),
    ...(source === undefined ? {} : { source }),
  };
}
