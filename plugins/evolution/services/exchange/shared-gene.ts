import { NODE_ID, type SharedGene } from '../../contract.ts';
import { PRIOR } from '../../rules/confidence.ts';
import { contentHashOf } from '../../rules/content-hash.ts';
import type { GeneRow } from '../../store/tables.ts';

/**
 * A component that means the same everywhere: tools of the gateway and of its plugins. Those of a tenant's own servers
 * and agents are not shared.
 */
const COMPONENT = /^(?:builtin\/[a-z0-9_]{1,64}|plugin\/[a-z0-9-]{1,48}\/[a-zA-Z0-9_-]{1,64})$/;

const TASK_CLASS = /^[a-z0-9-]{1,64}$/;

/** What is imported of a gene of another deployment: its content, and no text that a person wrote. */
export interface GeneClaim {
  readonly taskClass: string;
  readonly component: string;
  readonly type: 'prefer' | 'avoid';
  /** 0 to 1: half of what is claimed. */
  readonly confidence: number;
  readonly contributor: string | null;
  readonly contentHash: string;
}

/** What is imported of a gene of another deployment; undefined for a value that has not the form of a gene. Pure. */
export function claimOf(gene: unknown): GeneClaim | undefined {
  const { taskClass, confidence, strategy, contributorId } = membersOf(gene);
  const { component, type } = membersOf(strategy);
  if (!fits(taskClass, TASK_CLASS) || !fits(component, COMPONENT)) return undefined;
  if (type !== 'prefer' && type !== 'avoid') return undefined;
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) return undefined;
  if (contributorId !== undefined && !fits(contributorId, NODE_ID)) return undefined;
  return {
    taskClass,
    component,
    type,
    confidence: confidence / 2,
    contributor: contributorId === undefined || contributorId === ANONYMOUS ? null : contributorId,
    contentHash: contentHashOf({ taskClass, component, type }),
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function fits(value: unknown, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value);
}

/** Stands in for a contributor that is not named. */
export const ANONYMOUS = 'anonymous';

/** Whether a gene is the tenant's own, and means the same on other deployments. */
export function isMeantElsewhere({ component, source, taskClass }: GeneRow): boolean {
  return source === 'local' && COMPONENT.test(component) && TASK_CLASS.test(taskClass);
}

/** Whether a gene may leave its tenant, apart from the sharing policy. */
export function isShareable(gene: GeneRow): boolean {
  return gene.state === 'promoted' && isMeantElsewhere(gene);
}

/** A gene as others see it. Pure. */
export function toShared(gene: GeneRow, contributorId: string): SharedGene {
  const { useCount, successCount, taskClass, strategy, signals } = gene;
  return {
    geneId: gene.id,
    name: gene.label,
    taskClass,
    confidence: gene.confidence,
    strategy,
    signals,
    validation: { advised: gene.validation.advised, succeeded: gene.validation.succeeded },
    qualityScore: useCount === 0 ? PRIOR : successCount / useCount,
    useCount,
    successCount,
    contributorId,
    source: 'local',
    syncedAt: null,
    createdAt: gene.createdAt.toISOString(),
    updatedAt: gene.updatedAt.toISOString(),
  };
}
