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
 * One gene for each `geneId`, with its contributor: the one with the highest confidence, of equal ones the one that
 * changed last. Sorted by confidence, highest first, and as many as `limit` and the size of an answer allow. Pure.
 */
export function mergeGenes(
  answers: readonly (readonly HubGene[])[],
  query: GeneQuery,
  limit: number,
): readonly HubGene[] {
  const best = new Map<string, HubGene>();
  for (const genes of answers)
    for (const gene of genes) {
      if (!fits(query, gene)) continue;
      const other = best.get(gene.geneId);
      if (other === undefined || isBetter(gene, other)) best.set(gene.geneId, gene);
    }
  const ranked = [...best.values()].sort(byTrust).slice(0, limit);
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
