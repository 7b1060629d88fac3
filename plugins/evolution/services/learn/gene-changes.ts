import type { Ids } from 'agent-gateway';
import { afterUse, confidence } from '../../rules/confidence.ts';
import { contentHashOf } from '../../rules/content-hash.ts';
import type { ClassEvidence, TaskOutcome } from '../../rules/evidence.ts';
import {
  type GeneKnowledge,
  learned,
  type NewUses,
  NO_KNOWLEDGE,
  signalTypeOf,
  strategyType,
} from '../../rules/gene.ts';
import { labelOf } from '../../rules/labels.ts';
import { classOf, type TaskClasses } from '../../rules/task-classes.ts';
import { type GeneRow, NAME_LENGTH, type TaskRow } from '../../store/tables.ts';

/** A task as it was recorded. */
export type RecordedTask = Pick<
  TaskRow,
  'id' | 'taskClass' | 'features' | 'components' | 'session' | 'arm' | 'advised' | 'outcome' | 'createdAt'
>;

/** What the rules need to know of it. */
export function outcomeOf({ features, taskClass, components }: RecordedTask): TaskOutcome {
  const succeeded = Object.entries(components).map(([component, is]) => [component, is === 1] as const);
  return { features, taskClass: taskClass ?? undefined, components: new Map(succeeded) };
}

/** The input from which genes are made. */
export interface Learned {
  readonly tenantId: string;
  readonly agentName: string;
  readonly classes: TaskClasses;
  /** By task class and component, of the last tasks. */
  readonly evidence: ReadonlyMap<string, ClassEvidence>;
  /** Tasks that are not in the counts yet. */
  readonly fresh: readonly RecordedTask[];
  /** The agent's own genes, as they are. */
  readonly genes: readonly GeneRow[];
  /** Imported genes that were in the advice of fresh tasks. */
  readonly foreign: readonly GeneRow[];
  /** The weight of a use relative to the next one. */
  readonly discount: number;
  readonly minConfidence: number;
  readonly now: Date;
}

/** Genes that are new, and those that have changed. */
export interface GeneChanges {
  readonly made: readonly GeneRow[];
  readonly changed: readonly GeneRow[];
}

/** What the last tasks of an agent change in its genes. Pure, except for the ids of new ones. */
export function geneChanges(learnedNow: Learned, ids: Pick<Ids, 'uuid'>): GeneChanges {
  const { evidence, fresh, classes, minConfidence, now } = learnedNow;
  const known = new Map(learnedNow.genes.map((gene) => [keyOf(gene.taskClass, gene.component), gene]));
  const uses = newUses(fresh, classes, known);
  const labels = new Map<string, string>();
  const made: GeneRow[] = [];
  const changed: GeneRow[] = [];
  for (const [taskClass, components] of evidence)
    for (const [component, ofComponent] of components) {
      if (component.length > NAME_LENGTH) continue;
      const before = known.get(keyOf(taskClass, component));
      if (before?.state === 'revoked') continue;
      const knowledge = learned(
        before === undefined ? NO_KNOWLEDGE : knowledgeIn(before),
        ofComponent,
        uses.get(keyOf(taskClass, component)) ?? NO_USES,
        minConfidence,
      );
      if (!labels.has(taskClass)) labels.set(taskClass, labelOf(taskClass, classes));
      const gene = withKnowledge(
        before ?? newGene(learnedNow, taskClass, component, ids.uuid()),
        knowledge,
        labels.get(taskClass)!,
        now,
      );
      if (before === undefined) made.push(gene);
      else if (differs(before, gene)) changed.push({ ...gene, version: before.version + 1 });
    }
  return { made, changed: [...changed, ...foreignChanges(learnedNow)] };
}

/**
 * Imported genes, updated by the tasks that had them in the advice and used their component: no other task counts for
 * them.
 */
function foreignChanges({ foreign, fresh, discount, minConfidence, now }: Learned): readonly GeneRow[] {
  return foreign.flatMap((gene) => {
    const { id, component, label, version, state } = gene;
    const credited = fresh.filter(
      ({ advised, components }) => advised.includes(id) && components[component] !== undefined,
    );
    if (credited.length === 0 || state === 'revoked') return [];
    const before = knowledgeIn(gene);
    const successful = credited.filter(({ components }) => components[component] === 1);
    const evidence = credited.reduce(
      (sum, { components }) => afterUse(sum, components[component] === 1, discount),
      before.evidence,
    );
    const uses = { uses: credited.length, successes: successful.length };
    const sessions = successful.flatMap(({ session }) => session ?? []);
    const credit = { advised: uses.uses, succeeded: uses.successes };
    const after = learned(before, evidence, { ...uses, sessions, ...credit }, minConfidence);
    // Its content and its label stay as they were imported.
    const { contentHash, strategy } = gene;
    return [{ ...withKnowledge(gene, after, '', now), label, contentHash, strategy, version: version + 1 }];
  });
}

const NO_USES: NewUses = { uses: 0, successes: 0, sessions: [], advised: 0, succeeded: 0 };

function keyOf(taskClass: string, component: string): string {
  return `${taskClass}\n${component}`;
}

/** What uncounted tasks add, by class and component. */
function newUses(
  fresh: readonly RecordedTask[],
  classes: TaskClasses,
  known: ReadonlyMap<string, GeneRow>,
): ReadonlyMap<string, NewUses> {
  const found = new Map<string, NewUses>();
  for (const { taskClass: named, features, components, session, advised } of fresh) {
    const taskClass = named ?? classOf(classes, features);
    if (taskClass === undefined) continue;
    for (const [component, succeeded] of Object.entries(components)) {
      const key = keyOf(taskClass, component);
      const { uses, successes, sessions, ...credit } = found.get(key) ?? NO_USES;
      // A gene is credited with the outcome only where it was in the advice and its component was used.
      const gene = known.get(key);
      const isAdvised = gene !== undefined && advised.includes(gene.id);
      found.set(key, {
        uses: uses + 1,
        successes: successes + succeeded,
        sessions: succeeded === 1 && session !== null ? twoOf([...sessions, session]) : sessions,
        advised: credit.advised + (isAdvised ? 1 : 0),
        succeeded: credit.succeeded + (isAdvised ? succeeded : 0),
      });
    }
  }
  return found;
}

/**
 * Two different sessions at most, which is all that a promotion asks for: one that succeeds again does not take the
 * place of another.
 */
function twoOf(sessions: readonly string[]): readonly string[] {
  return [...new Set(sessions)].slice(0, 2);
}

function knowledgeIn(gene: GeneRow): GeneKnowledge {
  const { wins, losses, useCount, successCount, sessions, state, validation } = gene;
  return { evidence: { wins, losses }, useCount, successCount, sessions, state, validation };
}

/** What of a gene does not depend on what is learned. */
type GeneBase = Pick<
  GeneRow,
  | 'id'
  | 'tenantId'
  | 'agentName'
  | 'taskClass'
  | 'component'
  | 'source'
  | 'contributor'
  | 'senderId'
  | 'createdAt'
> & { readonly version: number };

function newGene(
  { tenantId, agentName, now }: Learned,
  taskClass: string,
  component: string,
  id: string,
): GeneBase {
  const own = { source: 'local', contributor: null, senderId: null } as const;
  return { id, tenantId, agentName, taskClass, component, ...own, version: 1, createdAt: now };
}

function withKnowledge(gene: GeneBase, knowledge: GeneKnowledge, label: string, now: Date): GeneRow {
  const { evidence, useCount, successCount, sessions, state, validation } = knowledge;
  const { component, taskClass } = gene;
  const type = strategyType(evidence);
  return {
    ...gene,
    label: `${type === 'prefer' ? 'Use' : 'Avoid'} ${component} for ${label}`.slice(0, LABEL_LENGTH),
    signalType: signalTypeOf(component, evidence),
    signals: countsOf(component, useCount, successCount),
    strategy: { component, type },
    contentHash: contentHashOf({ taskClass, component, type }),
    confidence: confidence(evidence),
    wins: evidence.wins,
    losses: evidence.losses,
    useCount,
    successCount,
    sessions,
    state,
    validation,
    updatedAt: now,
  };
}

const LABEL_LENGTH = 200;

/** Signals by type. */
function countsOf(component: string, uses: number, successes: number): Readonly<Record<string, number>> {
  if (component.startsWith('model/')) return { model_invoke: uses };
  if (component.startsWith('node/')) return { node_done: uses };
  return { tool_success: successes, tool_error: uses - successes };
}

function differs(before: GeneRow, after: GeneRow): boolean {
  return (
    before.useCount !== after.useCount ||
    before.state !== after.state ||
    Math.abs(before.confidence - after.confidence) > 1e-9 ||
    Math.abs(before.wins - after.wins) > 1e-9
  );
}
