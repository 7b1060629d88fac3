import { confidence, type Evidence, PRIOR } from './confidence.ts';

export const GENE_STATES = ['candidate', 'promoted', 'quarantined', 'revoked'] as const;
export type GeneState = (typeof GENE_STATES)[number];

/** How a gene was checked, in addition to its evidence. */
export interface Validation {
  /**
   * Tasks in which the gene was in the advice and its component was used, and those of them in which that use
   * succeeded.
   */
  readonly advised: number;
  readonly succeeded: number;
  /** Who decided its state: an operator's decision holds until an operator makes another. */
  readonly decidedBy: 'rule' | 'operator';
}

/** The knowledge of a gene. */
export interface GeneKnowledge {
  readonly evidence: Evidence;
  /** All tasks so far in which its component was used, and those in which its last use succeeded. */
  readonly useCount: number;
  readonly successCount: number;
  /** Hashes of sessions in which it succeeded: two at most. */
  readonly sessions: readonly string[];
  readonly state: GeneState;
  readonly validation: Validation;
}

/** The outcome of the tasks that were recorded since. */
export interface NewUses {
  readonly uses: number;
  readonly successes: number;
  readonly sessions: readonly string[];
  readonly advised: number;
  readonly succeeded: number;
}

/** Before anything was recorded. */
export const NO_KNOWLEDGE: GeneKnowledge = {
  evidence: { wins: 0, losses: 0 },
  useCount: 0,
  successCount: 0,
  sessions: [],
  state: 'candidate',
  validation: { advised: 0, succeeded: 0, decidedBy: 'rule' },
};

const PROMOTED_AFTER_SUCCESSES = 3;
const PROMOTED_AFTER_SESSIONS = 2;
/** How far below the threshold a promoted gene falls before it is quarantined, so that its state does not flap. */
const PATIENCE = 0.1;

/** A gene after new uses: its evidence is that of the last tasks, its counts add up. Pure. */
export function learned(
  before: GeneKnowledge,
  evidence: Evidence,
  fresh: NewUses,
  minConfidence: number,
): GeneKnowledge {
  const { advised, succeeded, decidedBy } = before.validation;
  const after: GeneKnowledge = {
    evidence,
    useCount: before.useCount + fresh.uses,
    successCount: before.successCount + fresh.successes,
    sessions: [...new Set([...before.sessions, ...fresh.sessions])].slice(0, PROMOTED_AFTER_SESSIONS),
    state: before.state,
    validation: { advised: advised + fresh.advised, succeeded: succeeded + fresh.succeeded, decidedBy },
  };
  return { ...after, state: stateOf(after, minConfidence) };
}

/**
 * The state by the rule: promoted after 3 successes in 2 sessions while the confidence suffices, quarantined when it no
 * longer does.
 */
function stateOf(gene: GeneKnowledge, minConfidence: number): GeneState {
  const { state, validation } = gene;
  if (state === 'revoked' || validation.decidedBy === 'operator') return state;
  const trust = confidence(gene.evidence);
  if (state === 'promoted') return trust < minConfidence - PATIENCE ? 'quarantined' : 'promoted';
  const isProven =
    gene.successCount >= PROMOTED_AFTER_SUCCESSES && gene.sessions.length >= PROMOTED_AFTER_SESSIONS;
  return isProven && trust >= minConfidence ? 'promoted' : state;
}

/** What a gene recommends. */
export function strategyType(evidence: Evidence): 'prefer' | 'avoid' {
  return confidence(evidence) >= PRIOR ? 'prefer' : 'avoid';
}

/** The kind of signal that a gene about a component stands for. */
export function signalTypeOf(
  component: string,
  evidence: Evidence,
): 'model_invoke' | 'node_done' | 'tool_success' | 'tool_error' {
  if (component.startsWith('model/')) return 'model_invoke';
  if (component.startsWith('node/')) return 'node_done';
  return strategyType(evidence) === 'prefer' ? 'tool_success' : 'tool_error';
}
