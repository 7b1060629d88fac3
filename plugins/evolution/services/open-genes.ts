import type { Scope } from 'agent-gateway';
import type { EvolutionSettings } from '../config.ts';
import type { SharingPolicies } from '../contract.ts';
import { createFederatedSearch } from './exchange/federated-search.ts';
import { createGeneExchange } from './exchange/gene-exchange.ts';
import { readHubAddresses } from './exchange/hub-addresses.ts';
import { createHubSearch } from './exchange/hub-search.ts';
import { createGeneDesk } from './genes/gene-desk.ts';

/** Opens the services for administering and exchanging genes. */
export function openGenes(
  scope: Pick<Scope<EvolutionSettings>, 'services' | 'config' | 'metric'>,
  policies: SharingPolicies,
) {
  const { services, config: settings, metric } = scope;
  const shared = metric.counter({
    name: 'evolution_genes_shared_total',
    help: 'Genes that were given to others.',
  });
  const served = metric.counter({
    name: 'evolution_recommendations_served_total',
    help: 'Suggestions in the advice of runs, and recommendations that were asked for.',
  });
  const exchange = createGeneExchange({
    ...services,
    policies,
    onShared: (genes) => shared.inc(genes),
  });
  const addresses = readHubAddresses(settings);
  const searchHubs = addresses.hubs.length === 0 ? undefined : createHubSearch(addresses.hubs);
  return {
    exchange,
    addresses,
    isFederated: searchHubs !== undefined,
    federatedSearch: createFederatedSearch({ ...services, policies, exchange, searchHubs }),
    desk: createGeneDesk(services),
    onServed: (genes: number) => served.inc(genes),
  };
}
