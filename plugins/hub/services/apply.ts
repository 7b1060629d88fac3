import type { GeneExchange } from '../../evolution/contract.ts';
import { contentOf } from '../rules/hub-gene.ts';
import type { GeneStore } from '../store/genes.ts';
import type { EventRow } from '../store/tables.ts';

/**
 * Makes what this gateway does with an event of the network: it offers a promoted gene to the tenants that consume, and takes a revoked one from all who have it.
 * A node's word revokes what it alone has learned: a content that another node stands for stays.
 */
export function createApply(parts: {
  readonly exchange: GeneExchange;
  readonly genes: Pick<GeneStore, 'isHeldByOthers'>;
}): (event: EventRow) => Promise<void> {
  const { exchange, genes } = parts;
  return async ({ type, gene, nodeId }) => {
    if (type === 'gene_promoted') await exchange.offerToAll([gene]);
    else if (!(await genes.isHeldByOthers(nodeId, contentOf(gene)))) await exchange.withdraw([gene]);
  };
}
