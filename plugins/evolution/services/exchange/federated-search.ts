import type { Database } from 'agent-gateway';
import type { GeneExchange, SharingPolicies } from '../../contract.ts';
import { type GeneRow, GeneTable } from '../../store/tables.ts';
import type { SearchHubs } from './hub-search.ts';
import { claimOf } from './shared-gene.ts';

/** The result of a search in the hub. */
export interface Federated {
  /** The tenant's own copies of the found genes, highest confidence first. */
  readonly genes: readonly GeneRow[];
  /** Those of them that are new. */
  readonly imported: number;
}

/** Searches the genes of other deployments for a tenant, without a text all of them. */
export type FederatedSearch = (
  tenantId: string,
  text: string | undefined,
  signal: AbortSignal,
) => Promise<Federated>;

/** Genes of one search. */
const MAX_GENES = 100;
const NOTHING: Federated = { genes: [], imported: 0 };

/** Makes the search; without a hub, and for a tenant that does not consume, it finds nothing. */
export function createFederatedSearch(parts: {
  readonly database: Pick<Database, 'forTenant'>;
  readonly policies: Pick<SharingPolicies, 'of'>;
  readonly exchange: Pick<GeneExchange, 'offer'>;
  /** Undefined without a hub. */
  readonly searchHubs: SearchHubs | undefined;
}): FederatedSearch {
  const { database, policies, exchange, searchHubs } = parts;
  return async (tenantId, text, signal) => {
    if (searchHubs === undefined || !(await policies.of(tenantId)).mayConsume) return NOTHING;
    const results = (await searchHubs(text, signal)).slice(0, MAX_GENES);
    const { imported } = await exchange.offer(tenantId, results);
    const hashes = results.flatMap((gene) => claimOf(gene)?.contentHash ?? []);
    if (hashes.length === 0) return NOTHING;
    const genes = await database
      .forTenant(tenantId)
      .rows(
        GeneTable,
        { source: 'hub', state: { $ne: 'revoked' }, contentHash: { $in: hashes } },
        { orderBy: { confidence: 'desc', id: 'desc' }, limit: MAX_GENES },
      );
    return { genes, imported };
  };
}
