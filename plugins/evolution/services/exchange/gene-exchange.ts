import type { Clock, Database, Ids } from 'agent-gateway';
import { GeneDecided, type GeneExchange, type SharedGene, type SharingPolicies } from '../../contract.ts';
import { NO_KNOWLEDGE } from '../../rules/gene.ts';
import { ANY_AGENT, GeneTable, TombstoneTable } from '../../store/tables.ts';
import { ANONYMOUS, claimOf, type GeneClaim, isShareable, toShared } from './shared-gene.ts';

/** Genes that one call takes or gives. */
const MAX_GENES = 100;
/** Genes that are read at one time, and how often, until enough of them may be told. */
const PAGE = 200;
const PAGES = 20;
/** Genes of others that a tenant keeps. */
const MAX_FOREIGN = 1_000;
/** As how many uses a claim counts. */
const CLAIMED_USES = 2;

export function createGeneExchange(parts: {
  readonly database: Pick<Database, 'forTenant' | 'pageOfAll'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly events: { emit(event: typeof GeneDecided, data: { tenantId: string }): void };
  readonly policies: SharingPolicies;
  readonly senderId: string;
  /** Called with the number of genes that are given out. */
  readonly onShared: (genes: number) => void;
}): GeneExchange {
  const { database, clock, ids, events, policies, senderId, onShared } = parts;

  /** Takes one gene, unless it was revoked here, or something is known of it already. */
  async function take(tenantId: string, claim: GeneClaim): Promise<boolean> {
    const { taskClass, component, type, confidence, contributor, contentHash } = claim;
    const now = new Date(clock.now());
    return database.forTenant(tenantId).transaction(
      async (entities) => {
        if ((await entities.count(TombstoneTable, { contentHash })) > 0) return false;
        const key = { agentName: ANY_AGENT, taskClass, component, source: 'hub' as const };
        if ((await entities.count(GeneTable, key)) > 0) return false;
        if ((await entities.count(GeneTable, { source: 'hub' })) >= MAX_FOREIGN) return false;
        await entities.upsert(
          GeneTable,
          {
            ...{ id: ids.uuid(), ...key, contributor, contentHash, confidence, sessions: [], version: 1 },
            label: `${type === 'prefer' ? 'Use' : 'Avoid'} ${component} for tasks of class ${taskClass}`,
            ...{ signalType: 'tool_success', signals: {}, strategy: { component, type } },
            ...{
              useCount: 0,
              successCount: 0,
              state: NO_KNOWLEDGE.state,
              validation: NO_KNOWLEDGE.validation,
            },
            wins: confidence * CLAIMED_USES,
            losses: (1 - confidence) * CLAIMED_USES,
            senderId: contributor === null ? null : senderId,
            ...{ createdAt: now, updatedAt: now },
          },
          { conflict: ['agentName', 'taskClass', 'component', 'source'], update: [] },
        );
        return true;
      },
      { retries: 3 },
    );
  }

  return {
    async published({ text, taskClass, minConfidence = 0 }) {
      const given: SharedGene[] = [];
      for (let page = 0; page < PAGES && given.length < MAX_GENES; page += 1) {
        const [genes] = await database.pageOfAll(
          GeneTable,
          {
            ...{ state: 'promoted' as const, source: 'local' as const, confidence: { $gte: minConfidence } },
            ...(taskClass === undefined ? {} : { taskClass }),
          },
          {
            ...{ orderBy: { confidence: 'desc', id: 'desc' }, limit: PAGE, offset: page * PAGE },
            ...(text === undefined ? {} : { search: { text, in: ['label', 'component', 'taskClass'] } }),
          },
        );
        for (const gene of genes) {
          if (given.length >= MAX_GENES || !isShareable(gene)) continue;
          const { effectiveContributionMode: mode } = await policies.of(gene.tenantId);
          if (mode !== 'disabled') given.push(toShared(gene, mode === 'trusted' ? gene.tenantId : ANONYMOUS));
        }
        if (genes.length < PAGE) break;
      }
      onShared(given.length);
      return given;
    },

    async offer(tenantId, genes) {
      if (!(await policies.of(tenantId)).mayConsume) return { imported: 0, refused: genes.length };
      let imported = 0;
      for (const gene of genes.slice(0, MAX_GENES)) {
        const claim = claimOf(gene);
        // Genes of its own come back from those whom it told.
        if (claim === undefined || claim.contributor === tenantId) continue;
        if (await take(tenantId, claim)) imported += 1;
      }
      if (imported > 0) events.emit(GeneDecided, { tenantId });
      return { imported, refused: genes.length - imported };
    },
  };
}
