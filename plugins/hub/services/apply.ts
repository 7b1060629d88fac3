import type { GeneExchange } from '../../evolution/contract.ts';
import { contentOf, sayingsOf } from '../rules/hub-gene.ts';
import type { GeneStore } from '../store/genes.ts';
import type { EventRow } from '../store/tables.ts';

/**
 * Makes the function that applies an event of the network to this gateway: it offers a promoted gene to the tenants
 * that consume, and withdraws a revoked one from all tenants that have it. A node can revoke only what it alone has
 * learned: a content that another node has promoted as well stays. Of what another hub delivers, that hub knows it.
 */
export function createApply(parts: {
  readonly exchange: GeneExchange;
  readonly genes: Pick<GeneStore, 'isHeldByOthers'>;
}): (event: EventRow) => Promise<void> {
  const { exchange, genes } = parts;
  return async ({ type, gene: reported, nodeId, stillPromoted }) => {
    if (type === 'gene_promoted') {
      await exchange.offerToAll([reported]);
      return;
    }
    const kept = stillPromoted?.split(',');
    for (const { said, gene } of sayingsOf(reported))
      if (!kept?.includes(said) && !(await genes.isHeldByOthers(nodeId, contentOf(gene))))
        await exchange.withdraw([gene]);
  };
}
