import type { GeneStore } from '../store/genes.ts';

/** Milliseconds by which the clocks of replicas may differ: so much is read again. */
const OVERLAP_MS = 10_000;

/** Genes that were revoked, in memory: a search looks at each gene that it finds. */
export interface Tombstones {
  /** Reads what has come since. */
  refresh(): Promise<void>;
  /** Whether what this node says of a gene is not to be found any more. */
  cover(nodeId: string, geneId: string): boolean;
}

export function createTombstones(store: Pick<GeneStore, 'tombstonesSince'>): Tombstones {
  /** Of genes that their node had promoted here: the copies of others are meant as well. */
  const everywhere = new Set<string>();
  const ofNode = new Set<string>();
  let newest = 0;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    for await (const rows of store.tombstonesSince(new Date(Math.max(0, newest - OVERLAP_MS))))
      for (const { nodeId, geneId, wasPromoted, updatedAt } of rows) {
        if (wasPromoted) everywhere.add(geneId);
        else ofNode.add(`${nodeId}\n${geneId}`);
        newest = Math.max(newest, updatedAt.getTime());
      }
  }

  return {
    refresh() {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    cover: (nodeId, geneId) => everywhere.has(geneId) || ofNode.has(`${nodeId}\n${geneId}`),
  };
}
