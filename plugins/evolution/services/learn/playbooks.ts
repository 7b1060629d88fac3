import { type Clock, createSharedCache, type Database } from 'agent-gateway';
import type { KnownComponent } from '../../rules/suggestions.ts';
import type { TaskClasses } from '../../rules/task-classes.ts';
import { classesOf, type StoredClasses } from '../../store/learners.ts';
import { ANY_AGENT, type GeneRow, GeneTable, LearnerTable } from '../../store/tables.ts';

/** A gene, as the advice for runs uses it. */
export interface KnownGene extends KnownComponent {
  readonly id: string;
}

/** What is known of the components of one class of tasks. */
export interface ClassKnowledge {
  /** What the agent learned itself, by component. */
  readonly own: ReadonlyMap<string, KnownGene>;
  /** What others claim about components, by component. */
  readonly foreign: ReadonlyMap<string, KnownGene>;
}

/** All knowledge that the advice for an agent's runs uses. */
export interface Playbook {
  readonly classes: TaskClasses;
  readonly byClass: ReadonlyMap<string, ClassKnowledge>;
}

export type Playbooks = ReturnType<typeof createPlaybooks>;

const MAX_AGENTS = 2_000;
const MAX_AGE_MS = 60_000;
/** Genes of one agent that are used: those with the highest confidence. */
const MAX_GENES = 1_000;
/** Approximate size of a word and of a gene, in characters. */
const WORD_SIZE = 50;
const GENE_SIZE = 300;

/**
 * The playbooks of agents, at most some seconds old.
 *
 * @param refreshAfter milliseconds after which a playbook in use is read again in the background
 */
export function createPlaybooks(
  { database, clock }: { readonly database: Pick<Database, 'forTenant'>; readonly clock: Clock },
  refreshAfter: number,
) {
  const cache = createSharedCache<Playbook & { readonly tenantId: string }>({
    clock,
    maxAge: MAX_AGE_MS,
    refreshAfter,
    maxEntries: MAX_AGENTS,
    load: async (key) => {
      const [tenantId, agent] = JSON.parse(key) as [string, string];
      return { tenantId, ...(await read(database, tenantId, agent)) };
    },
    weigh: ({ classes, byClass }) => {
      const genes = [...byClass.values()].reduce((sum, { own, foreign }) => sum + own.size + foreign.size, 0);
      return classes.size * WORD_SIZE + genes * GENE_SIZE;
    },
  });
  return {
    /** Returned without a promise when it is cached. */
    of: (tenantId: string, agent: string): Playbook | Promise<Playbook> => cache.get(keyOf(tenantId, agent)),
    /**
     * Drops the cached playbooks of a tenant, or of one of its agents, after a decision about a gene, or after the
     * agent has learned.
     */
    forget(tenantId: string, agent?: string): void {
      if (agent === undefined) cache.forgetWhere((playbook) => playbook.tenantId === tenantId);
      else cache.forget(keyOf(tenantId, agent));
    },
    clear: cache.clear,
  };
}

const keyOf = (tenantId: string, agent: string) => JSON.stringify([tenantId, agent]);

async function read(
  database: Pick<Database, 'forTenant'>,
  tenantId: string,
  agentName: string,
): Promise<Playbook> {
  const entities = database.forTenant(tenantId);
  const [[learner], genes] = await Promise.all([
    entities.rows(LearnerTable, { agentName }, { fields: ['classes'], limit: 1 }),
    entities.rows(
      GeneTable,
      { agentName: { $in: [agentName, ANY_AGENT] } },
      { orderBy: { confidence: 'desc', id: 'asc' }, limit: MAX_GENES },
    ),
  ]);
  return playbookOf(learner?.classes ?? {}, genes);
}

/** Makes a playbook of stored rows. Pure. */
export function playbookOf(classes: StoredClasses, genes: readonly GeneRow[]): Playbook {
  const byClass = new Map<string, { own: Map<string, KnownGene>; foreign: Map<string, KnownGene> }>();
  for (const gene of genes) {
    const of = byClass.get(gene.taskClass) ?? { own: new Map(), foreign: new Map() };
    byClass.set(gene.taskClass, of);
    const { id, wins, losses } = gene;
    const known = { id, evidence: { wins, losses }, isHeld: isHeld(gene) };
    if (gene.source === 'local') of.own.set(gene.component, known);
    else if (gene.strategy.type === 'prefer') of.foreign.set(gene.component, known);
  }
  return { classes: classesOf(classes), byClass };
}

/**
 * Whether a gene is kept out of advice: revoked ones, and those that an operator quarantined. For own genes that the
 * rule quarantined, advice still warns of the tool.
 */
function isHeld({ state, validation, source }: GeneRow): boolean {
  if (state === 'revoked') return true;
  return state === 'quarantined' && (validation.decidedBy === 'operator' || source === 'hub');
}
