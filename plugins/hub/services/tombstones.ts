import type { Clock } from 'agent-gateway';
import type { GeneStore } from '../store/genes.ts';

/** Milliseconds by which the clocks of replicas may differ: each read goes back by so much. */
const OVERLAP_MS = 10_000;

export type Tombstones = ReturnType<typeof createTombstones>;

/** Revoked genes, in memory: a search checks each gene that it finds. */
export function createTombstones(store: Pick<GeneStore, 'tombstonesSince'>, clock: Pick<Clock, 'now'>) {
  /** Genes that were promoted here before their node revoked them: the copies of other nodes are covered as well. */
  const everywhere = new Set<string>();
  const ofNode = new Set<string>();
  let newest = 0;
  let reading = Promise.resolve();
  let next: Promise<void> | undefined;

  async function read(): Promise<void> {
    const latest = clock.now() + OVERLAP_MS;
    // The clock was set back: what was revoked since may be older than what was read.
    if (newest > latest) newest = 0;
    for await (const rows of store.tombstonesSince(new Date(Math.max(0, newest - OVERLAP_MS))))
      for (const { nodeId, geneId, wasPromoted, updatedAt } of rows) {
        if (wasPromoted) everywhere.add(geneId);
        else ofNode.add(`${nodeId}\n${geneId}`);
        // One of a clock that is ahead does not hide those that follow it.
        if (updatedAt.getTime() <= latest) newest = Math.max(newest, updatedAt.getTime());
      }
  }

  return {
    /**
     * Reads tombstones that are newer than the last read. Resolves when all that were stored before the call are known.
     */
    refresh(): Promise<void> {
      // Not the read that runs: it may have begun before the latest tombstone was stored.
      next ??= reading
        .catch(() => {})
        .then(() => {
          next = undefined;
          reading = read();
          return reading;
        });
      return next;
    },
    /** Whether this node's copy of a gene must be left out of results. */
    cover: (nodeId: string, geneId: string) => everywhere.has(geneId) || ofNode.has(`${nodeId}\n${geneId}`),
  };
}
