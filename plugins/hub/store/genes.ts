import { createHash } from 'node:crypto';
import { type Database, RETRY_RACES } from 'agent-gateway';
import { type GeneRow, GeneTable } from './tables.ts';

/** The genes that nodes have reported, in one database of a hub. */
export type GeneStore = ReturnType<typeof createGeneStore>;

/** A revoked gene, which searches must not find any more. */
export type Tombstone = Pick<GeneRow, 'nodeId' | 'geneId' | 'wasPromoted' | 'updatedAt'>;

/** Tombstones of one query. */
const PAGE = 5_000;

export function createGeneStore(database: Pick<Database, 'system' | 'transaction'>) {
  return {
    find: async (nodeId: string, geneId: string): Promise<GeneRow | undefined> =>
      (await database.system().findOne(GeneTable, { id: rowId(nodeId, geneId) })) ?? undefined,

    countOf: (nodeId: string): Promise<number> => database.system().count(GeneTable, { nodeId }),

    /**
     * Stores what a node reports of a gene. A revoked gene stays revoked: then nothing is stored, and the result is
     * false.
     */
    note: (gene: Omit<GeneRow, 'id' | 'wasPromoted' | 'promotedWith'>): Promise<boolean> =>
      database.transaction(async (entities) => {
        const id = rowId(gene.nodeId, gene.geneId);
        const before = await entities.findOne(GeneTable, { id });
        if (before?.state === 'revoked' && gene.state !== 'revoked') return false;
        const wasPromoted = before?.wasPromoted === true || gene.state === 'promoted';
        const promotedWith =
          gene.state === 'promoted'
            ? Math.max(gene.gene.confidence, confidenceOf(before))
            : (before?.promotedWith ?? null);
        const row = { ...gene, wasPromoted, promotedWith };
        // A condition on the state: of a concurrent promotion and revocation the revocation stays, in either order.
        if (before === null) await entities.insert(GeneTable, { ...row, id });
        else {
          const where = gene.state === 'revoked' ? { id } : { id, state: 'promoted' as const };
          if ((await entities.nativeUpdate(GeneTable, where, row)) === 0) return false;
        }
        return true;
      }, RETRY_RACES),

    /** Whether a node other than this one has the same content promoted. */
    async isHeldByOthers(nodeId: string, content: string): Promise<boolean> {
      const where = { content, state: 'promoted' as const, nodeId: { $ne: nodeId } };
      return (await database.system().count(GeneTable, where)) > 0;
    },

    /** Tombstones since a time, the oldest first. */
    async *tombstonesSince(since: Date): AsyncGenerator<readonly Tombstone[]> {
      for (let offset = 0; ; offset += PAGE) {
        const rows = await database.system().find(
          GeneTable,
          { state: 'revoked', updatedAt: { $gte: since } },
          {
            fields: ['nodeId', 'geneId', 'wasPromoted', 'updatedAt'],
            orderBy: { updatedAt: 'asc', id: 'asc' },
            limit: PAGE,
            offset,
          },
        );
        yield rows;
        if (rows.length < PAGE) return;
      }
    },

    /** The genes that changed last, and the number of all. */
    newest: (limit: number): Promise<[GeneRow[], number]> =>
      database.system().findAndCount(GeneTable, {}, { orderBy: { updatedAt: 'desc', id: 'desc' }, limit }),
  };
}

/** The highest confidence with which a gene was promoted; 0 for one that never was. Pure. */
export function confidenceOf(
  row: Pick<GeneRow, 'gene' | 'state' | 'promotedWith'> | null | undefined,
): number {
  return row?.promotedWith ?? (row?.state === 'promoted' ? row.gene.confidence : 0);
}

function rowId(nodeId: string, geneId: string): string {
  return createHash('sha256').update(`${nodeId}\n${geneId}`).digest('hex');
}
