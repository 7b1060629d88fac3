import type { HubGene } from './hub-gene.ts';

/** The query that a search sends to all nodes. */
export interface GeneQuery {
  readonly q?: string | undefined;
  readonly taskClass?: string | undefined;
  readonly minConfidence?: number | undefined;
}

/** Bytes of all results as JSON: clients read an answer as a whole, and limit its size. */
export const MAX_RESULT_BYTES = 900 * 1024;

/**
 * Whether a gene matches a query. The words of a query are matched by the node, which alone knows what its genes are
 * about. Pure.
 */
export function fits({ taskClass, minConfidence }: GeneQuery, gene: HubGene): boolean {
  if (taskClass !== undefined && gene.taskClass !== taskClass) return false;
  return minConfidence === undefined || gene.confidence >= minConfidence;
}

/**
 * The best genes of an answer and of those before it. One gene for each `geneId`, with its contributor: the one with
 * the highest confidence, of equal ones the one that changed last. Sorted by confidence, highest first, and `limit` at
 * most: what is left out would not be among them later, since a gene is only ever replaced by a better one. Pure.
 */
export function mergeGenes(
  best: readonly HubGene[],
  genes: readonly HubGene[],
  query: GeneQuery,
  limit: number,
): readonly HubGene[] {
  const byId = new Map(best.map((gene) => [gene.geneId, gene]));
  for (const gene of genes) {
    if (!fits(query, gene)) continue;
    const other = byId.get(gene.geneId);
    if (other === undefined || isBetter(gene, other)) byId.set(gene.geneId, gene);
  }
  return [...byId.values()].sort(byTrust).slice(0, limit);
}

/** As many of the first genes as the size of an answer allows. Pure. */
export function thatFit(ranked: readonly HubGene[]): readonly HubGene[] {
  let bytes = 0;
  const most = ranked.findIndex((gene) => {
    bytes += Buffer.byteLength(JSON.stringify(gene)) + 1;
    return bytes > MAX_RESULT_BYTES;
  });
  return most < 0 ? ranked : ranked.slice(0, most);
}

function isBetter(gene: HubGene, other: HubGene): boolean {
  if (gene.confidence !== other.confidence) return gene.confidence > other.confidence;
  if (gene.updatedAt !== other.updatedAt) return gene.updatedAt > other.updatedAt;
  // A last criterion, so that the result does not depend on the order in which nodes answer.
  return gene.contributorId < other.contributorId;
}

function byTrust(one: HubGene, other: HubGene): number {
  if (one.confidence !== other.confidence) return other.confidence - one.confidence;
  return one.geneId < other.geneId ? -1 : 1;
}
