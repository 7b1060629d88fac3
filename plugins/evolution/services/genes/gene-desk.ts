import { type Clock, type Database, type DurableEvents, defineErrors, type Ids } from 'agent-gateway';
import { GeneDecided } from '../../contract.ts';
import { dayOf } from '../../rules/day.ts';
import { featuresOf } from '../../rules/features.ts';
import { classOf } from '../../rules/task-classes.ts';
import { type Uplift, upliftOf } from '../../rules/uplift.ts';
import {
  armsSince,
  changeGene,
  type GeneFilter,
  geneTotals,
  listGenes,
  revokeGenes,
} from '../../store/genes.ts';
import { classesOf } from '../../store/learners.ts';
import { ANY_AGENT, type GeneRow, GeneTable, LearnerTable } from '../../store/tables.ts';
import { createAnnounceMoves } from '../exchange/gene-moves.ts';

/** The errors of genes. */
const GeneErrors = defineErrors({
  notFound: { code: 'evolution.gene-not-found', kind: 'not-found', title: 'There is no such gene' },
  revoked: {
    code: 'evolution.gene-revoked',
    kind: 'conflict',
    title: 'The gene was revoked, for good',
  },
});

/** Days that the uplift covers. */
export const UPLIFT_DAYS = 30;
const DAY_MS = 86_400_000;
/** Genes, and agents, among which recommendations are searched: those with the highest confidence. */
const SEARCHED = 1_000;
const SEARCHED_AGENTS = 100;

/** What an operator decides about a gene. */
export type Decision = 'promoted' | 'quarantined' | 'revoked';

/** The request for a recommendation. */
export interface Wanted {
  /** A task, in words. */
  readonly query: string;
  /** The agent whose genes are searched; absent: all agents. */
  readonly agent?: string | undefined;
  readonly minConfidence: number;
  readonly limit: number;
}

export type GeneDesk = ReturnType<typeof createGeneDesk>;

/** Shows genes to administrators, and records their decisions. */
export function createGeneDesk(parts: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly events: { emit(event: typeof GeneDecided, data: { tenantId: string; id: string }): void };
  readonly durableEvents: Pick<DurableEvents, 'publish'>;
}) {
  const { database, clock, ids, events } = parts;
  const announce = createAnnounceMoves(parts.durableEvents);

  return {
    totals: (tenantId: string) => geneTotals(database.forTenant(tenantId)),

    async uplift(tenantId: string): Promise<Uplift> {
      const since = dayOf(new Date(clock.now() - UPLIFT_DAYS * DAY_MS));
      const { advised, holdout } = await armsSince(database.forTenant(tenantId), since);
      return upliftOf(advised, holdout);
    },

    list: (tenantId: string, filter: GeneFilter) => listGenes(database.forTenant(tenantId), filter),

    /** Throws `evolution.gene-not-found`. */
    async get(tenantId: string, id: string): Promise<GeneRow> {
      const [gene] = await database.forTenant(tenantId).rows(GeneTable, { id }, { limit: 1 });
      if (gene === undefined) throw GeneErrors.notFound();
      return gene;
    },

    /**
     * Records a decision, which holds until an administrator decides otherwise; a revocation is final. Throws
     * `evolution.gene-not-found`, `evolution.gene-revoked`.
     */
    async decide(tenantId: string, id: string, decision: Decision, reason: string) {
      const decided = await changeGene(
        database,
        tenantId,
        id,
        GeneErrors.notFound,
        async (entities, gene) => {
          if (gene.state === 'revoked') {
            if (decision === 'revoked') return;
            throw GeneErrors.revoked();
          }
          await announce(entities, [{ from: gene.state, to: { ...gene, state: decision } }]);
          if (decision === 'revoked') return revokeGenes(entities, [gene], reason, { clock, ids });
          await entities.update(
            GeneTable,
            { id },
            {
              state: decision,
              validation: { ...gene.validation, decidedBy: 'operator' },
              version: gene.version + 1,
              updatedAt: new Date(clock.now()),
            },
          );
        },
      );
      events.emit(GeneDecided, { tenantId, id });
      return decided;
    },

    /** Promoted genes for a task: those of its class first, then those whose words it names. */
    async recommend(
      tenantId: string,
      { query, agent, minConfidence, limit }: Wanted,
    ): Promise<readonly GeneRow[]> {
      const entities = database.forTenant(tenantId);
      const genes = await entities.rows(
        GeneTable,
        {
          state: 'promoted',
          confidence: { $gte: minConfidence },
          signalType: { $in: ['tool_success', 'tool_error'] },
          ...(agent === undefined ? {} : { agentName: { $in: [agent, ANY_AGENT] } }),
        },
        { orderBy: { confidence: 'desc', id: 'desc' }, limit: SEARCHED },
      );
      const agents = [...new Set(genes.map(({ agentName }) => agentName))].slice(0, SEARCHED_AGENTS);
      const learners =
        agents.length === 0
          ? []
          : await entities.rows(
              LearnerTable,
              { agentName: { $in: agents } },
              { fields: ['agentName', 'classes'], limit: SEARCHED_AGENTS },
            );
      const features = featuresOf(query);
      const classOfAgent = new Map(
        learners.map(({ agentName, classes }) => [agentName, classOf(classesOf(classes), features)] as const),
      );
      const words = new Set(features);
      const relevance = (gene: GeneRow) => {
        if (classOfAgent.get(gene.agentName) === gene.taskClass) return 2;
        const about = featuresOf(`${gene.label} ${gene.taskClass} ${gene.component} ${gene.agentName}`);
        return about.some((word) => words.has(word)) ? 1 : 0;
      };
      return genes
        .map((gene) => ({ gene, relevance: relevance(gene) }))
        .filter((one) => one.relevance > 0)
        .sort((one, other) => other.relevance - one.relevance || other.gene.confidence - one.gene.confidence)
        .slice(0, limit)
        .map(({ gene }) => gene);
    },
  };
}
