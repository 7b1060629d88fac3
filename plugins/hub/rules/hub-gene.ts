import { createHash } from 'node:crypto';
import { isJsonObject } from 'agent-gateway';
import type { SharedGene } from '../../evolution/contract.ts';

/** Bytes of a gene as JSON. */
const MAX_GENE = 16 * 1024;
const GENE_ID = /^[\x21-\x7e]{1,128}$/;
/** Control characters, and those that turn the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;
/**
 * A fast path for most texts: a search reads ten thousand genes, and looking up the class of each character would take
 * most of its time.
 */
const PLAIN = /^[\x20-\x7e]*$/;
const NAME_LENGTH = 200;
const WORD_LENGTH = 128;
/** Stands in for a contributor that is not named. */
export const ANONYMOUS = 'anonymous';

/** A gene as it is passed on: well formed, with every member bounded. */
export type HubGene = SharedGene;

/**
 * The gene in a node's report; undefined where it has no id, no confidence from 0 to 1, or is too large. Other members
 * that are missing, or of a wrong type, count as unknown: each receiver decides whether to trust the gene. Pure.
 */
export function readGene(value: unknown, syncedAt: string): HubGene | undefined {
  const gene = membersOf(value);
  const { geneId, confidence } = gene;
  if (typeof geneId !== 'string' || !GENE_ID.test(geneId)) return undefined;
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1)) return undefined;
  const strategy = membersOf(gene.strategy);
  const read: HubGene = {
    geneId,
    name: textOf(gene.name, NAME_LENGTH),
    taskClass: textOf(gene.taskClass, WORD_LENGTH),
    confidence,
    strategy: {
      ...strategy,
      component: textOf(strategy.component, WORD_LENGTH),
      type: textOf(strategy.type, WORD_LENGTH),
    },
    signals: membersOf(gene.signals) as Record<string, number>,
    validation: membersOf(gene.validation),
    qualityScore: rateOf(gene.qualityScore),
    useCount: countOf(gene.useCount),
    successCount: countOf(gene.successCount),
    contributorId: textOf(gene.contributorId, WORD_LENGTH) || ANONYMOUS,
    source: 'hub',
    syncedAt,
    createdAt: timeOf(gene.createdAt) ?? syncedAt,
    updatedAt: timeOf(gene.updatedAt) ?? syncedAt,
  };
  return Buffer.byteLength(JSON.stringify(read)) > MAX_GENE ? undefined : read;
}

/** The content of a gene, independent of its node: the same for two nodes that have learned the same. Pure. */
export function contentOf({ taskClass, strategy }: Pick<HubGene, 'taskClass' | 'strategy'>): string {
  const text = JSON.stringify([taskClass, strategy.component, strategy.type]);
  return createHash('sha256').update(text).digest('hex');
}

/** What a gene says of its tool. */
export const SAYINGS = ['prefer', 'avoid'];

/**
 * All that a gene may have said since it was promoted: one that began to fail says of its tool to avoid it, and copies
 * still say to prefer it. Pure.
 */
export function sayingsOf(gene: HubGene): readonly { readonly said: string; readonly gene: HubGene }[] {
  return SAYINGS.map((said) => ({
    said,
    gene: { ...gene, strategy: { ...gene.strategy, type: said } },
  }));
}

/**
 * The node that has reported a gene, as others may learn it: null for an anonymous gene, which names its sender nowhere
 * (decisions 3.5). Pure.
 */
export function reporterOf({ contributorId }: Pick<HubGene, 'contributorId'>, nodeId: string): string | null {
  return contributorId === ANONYMOUS ? null : nodeId;
}

function membersOf(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) return {};
  // Parsed JSON can have a member of this name. Copying it would lose it, or set the prototype of the copy.
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'));
}

function textOf(value: unknown, length: number): string {
  if (typeof value !== 'string') return '';
  if (value.length <= length && PLAIN.test(value)) return value;
  return value.toWellFormed().replaceAll(UNPRINTABLE, ' ').slice(0, length).toWellFormed();
}

function rateOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : 0;
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

function timeOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}
