import { LockMode } from '@mikro-orm/core';
import { type Clock, type Database, DEFAULT_TENANT_ID, type Ids, isUuid, RETRY_RACES } from 'agent-gateway';
import { GeneDecided, type GeneExchange, type SharedGene, type SharingPolicies } from '../../contract.ts';
import { NO_KNOWLEDGE } from '../../rules/gene.ts';
import { revokeGenes } from '../../store/genes.ts';
import { ANY_AGENT, type GeneRow, GeneTable, TombstoneTable } from '../../store/tables.ts';
import { consumers, contributors, holders } from '../../store/who-shares.ts';
import { ANONYMOUS, claimOf, type GeneClaim, isShareable, toShared } from './shared-gene.ts';

/** Genes that one call imports or returns. */
const MAX_GENES = 100;
/** Genes that are read at one time, and the reads at most until enough of them may be shared. */
const PAGE = 200;
const PAGES = 20;
/** Genes of others that a tenant keeps. */
const MAX_FOREIGN = 1_000;
/** The number of uses as which a claim counts. */
const CLAIMED_USES = 2;
/** The reason that is stored when copies are revoked because the contributor has revoked the gene. */
const WITHDRAWN = 'Revoked by its contributor';

/**
 * Whether a copy may be replaced by a gene that prefers its component: what an administrator decided stays, and of what
 * was revoked the tombstone.
 */
function givesWay({ strategy, state, validation }: GeneRow): boolean {
  return strategy.type === 'avoid' && (state === 'revoked' || validation.decidedBy === 'rule');
}

/** Whatever an offered gene has as its id. */
function idOf(gene: unknown): unknown {
  return ((gene ?? {}) as { readonly geneId?: unknown }).geneId;
}

/** The imported copies of a content that are not revoked. */
function copiesOf(contentHash: string) {
  return { source: 'hub' as const, contentHash, state: { $ne: 'revoked' as const } };
}

export function createGeneExchange(parts: {
  readonly database: Pick<Database, 'forTenant' | 'pageOfAll' | 'system'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly events: { emit(event: typeof GeneDecided, data: { tenantId: string }): void };
  readonly policies: SharingPolicies;
  /** Called with the number of genes that are returned to others. */
  readonly onShared: (genes: number) => void;
}): GeneExchange {
  const { database, clock, ids, events, policies, onShared } = parts;

  /**
   * Imports one gene, unless it was revoked here, there is a copy for its class and component, or the tenant has 1,000.
   * A copy that says to avoid the component, which advises nobody, gives way to one that prefers it.
   */
  async function take(tenantId: string, claim: GeneClaim): Promise<boolean> {
    const { taskClass, component, type, confidence, contributor, contentHash } = claim;
    const now = new Date(clock.now());
    return database.forTenant(tenantId).transaction(async (entities) => {
      if ((await entities.count(TombstoneTable, { contentHash })) > 0) return false;
      const key = { agentName: ANY_AGENT, taskClass, component, source: 'hub' as const };
      const [copy] = await entities.find(GeneTable, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (copy !== undefined) {
        if (type !== 'prefer' || !givesWay(copy)) return false;
        await entities.erase(GeneTable, { id: copy.id });
      } else if ((await entities.count(GeneTable, { source: 'hub' })) >= MAX_FOREIGN) return false;
      await entities.upsert(
        GeneTable,
        {
          id: ids.uuid(),
          ...key,
          contributor,
          contentHash,
          confidence,
          sessions: [],
          version: 1,
          label: `${type === 'prefer' ? 'Use' : 'Avoid'} ${component} for tasks of class ${taskClass}`,
          signalType: 'tool_success',
          signals: {},
          strategy: { component, type },
          useCount: 0,
          successCount: 0,
          state: NO_KNOWLEDGE.state,
          validation: NO_KNOWLEDGE.validation,
          wins: confidence * CLAIMED_USES,
          losses: (1 - confidence) * CLAIMED_USES,
          senderId: contributor,
          createdAt: now,
          updatedAt: now,
        },
        { conflict: ['agentName', 'taskClass', 'component', 'source'], update: [] },
      );
      return true;
    }, RETRY_RACES);
  }

  /** Ids of genes that are the tenant's own and come back, even if they were shared without a name. */
  async function ownAmong(tenantId: string, genes: readonly unknown[]): Promise<ReadonlySet<unknown>> {
    const named = genes.map(idOf).filter((id) => typeof id === 'string' && isUuid(id)) as string[];
    if (named.length === 0) return new Set();
    const query = { fields: ['id'], limit: named.length } as const;
    const own = await database.forTenant(tenantId).rows(GeneTable, { id: { $in: named } }, query);
    return new Set(own.map(({ id }) => id));
  }

  function withdrawFrom(tenantId: string, contentHash: string): Promise<number> {
    return database.forTenant(tenantId).transaction(async (entities) => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
      const copies = await entities.find(GeneTable, copiesOf(contentHash), lock);
      await revokeGenes(entities, copies, WITHDRAWN, { clock, ids });
      return copies.length;
    }, RETRY_RACES);
  }

  const exchange: GeneExchange = {
    async published({ text, taskClass, minConfidence = 0 }) {
      const given: SharedGene[] = [];
      // Only what may be shared is read: genes of models have the highest confidence, and most tenants share nothing.
      const tenants = await contributors(database);
      for (let page = 0; tenants?.length !== 0 && page < PAGES && given.length < MAX_GENES; page += 1) {
        const [genes] = await database.pageOfAll(
          GeneTable,
          {
            state: 'promoted' as const,
            source: 'local' as const,
            confidence: { $gte: minConfidence },
            signalType: { $in: ['tool_success', 'tool_error'] },
            ...(tenants === undefined ? {} : { tenantId: { $in: tenants } }),
            ...(taskClass === undefined ? {} : { taskClass }),
          },
          {
            orderBy: { confidence: 'desc', id: 'desc' },
            limit: PAGE,
            offset: page * PAGE,
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
      const given = genes.slice(0, MAX_GENES);
      const own = await ownAmong(tenantId, given);
      // The default tenants of all deployments have one id: it does not say whose gene it is.
      const ownName = tenantId === DEFAULT_TENANT_ID ? undefined : tenantId;
      let imported = 0;
      for (const gene of given) {
        const claim = claimOf(gene);
        // Deployments with which the tenant has shared its own genes may offer them back.
        if (claim === undefined || claim.contributor === ownName || own.has(idOf(gene))) continue;
        if (await take(tenantId, claim)) imported += 1;
      }
      if (imported > 0) events.emit(GeneDecided, { tenantId });
      return { imported, refused: genes.length - imported };
    },

    async find(tenantId, geneId) {
      const [gene] = await database.forTenant(tenantId).rows(GeneTable, { id: geneId }, { limit: 1 });
      if (gene === undefined || !isShareable(gene)) return undefined;
      const { effectiveContributionMode: mode } = await policies.of(tenantId);
      return mode === 'disabled' ? undefined : toShared(gene, mode === 'trusted' ? tenantId : ANONYMOUS);
    },

    async offerToAll(genes) {
      let copies = 0;
      for (const tenantId of await consumers(database))
        copies += (await exchange.offer(tenantId, genes)).imported;
      return copies;
    },

    async withdraw(genes) {
      const hashes = genes.slice(0, MAX_GENES).flatMap((gene) => claimOf(gene)?.contentHash ?? []);
      let withdrawn = 0;
      for (const contentHash of new Set(hashes))
        for await (const tenantId of holders(database, copiesOf(contentHash))) {
          withdrawn += await withdrawFrom(tenantId, contentHash);
          events.emit(GeneDecided, { tenantId });
        }
      return withdrawn;
    },
  };
  return exchange;
}
