import type { GeneExchange } from '../../evolution/contract.ts';
import { contentOf, type HubGene } from '../rules/hub-gene.ts';
import type { GeneStore } from '../store/genes.ts';
import type { EventRow } from '../store/tables.ts';

/**
 * Makes the function that applies an event of the network to this gateway: it offers a promoted gene to the tenants
 * that consume, and withdraws a revoked one from all tenants that have it. A node can revoke only what it alone has
 * learned: a content that another node has promoted as well stays.
 */
export function createApply(parts: {
  readonly exchange: GeneExchange;
  readonly genes: Pick<GeneStore, 'isHeldByOthers'>;
}): (event: EventRow) => Promise<void> {
  const { exchange, genes } = parts;
  return async ({ type, gene, nodeId }) => {
    if (type === 'gene_promoted') await exchange.offerToAll([gene]);
    else
      for (const said of sayings(gene))
        if (!(await genes.isHeldByOthers(nodeId, contentOf(said)))) await exchange.withdraw([said]);
  };
}

/**
 * All that a gene may have said since it was promoted: one that began to fail says of its tool to avoid it, and copies
 * still say to prefer it.
 */
function sayings(gene: HubGene): readonly HubGene[] {
  return ['prefer', 'avoid'].map((type) => ({ ...gene, strategy: { ...gene.strategy, type } }));
}
