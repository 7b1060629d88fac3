import type { Scope } from 'agent-gateway';
import type { EvolutionSettings } from '../config.ts';
import type { SharingPolicies } from '../contract.ts';
import { createFederatedSearch } from './exchange/federated-search.ts';
import { createGeneExchange } from './exchange/gene-exchange.ts';
import { readHubAddresses } from './exchange/hub-addresses.ts';
import { createHubClient } from './exchange/hub-client.ts';
import { createGeneDesk } from './genes/gene-desk.ts';

type EvolutionScope = Scope<EvolutionSettings>;

/** Opens the services for administering and exchanging genes. */
export function openGenes(
  scope: Pick<EvolutionScope, 'services' | 'config' | 'metric'>,
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
    senderId: settings.sender_id,
    onShared: (genes) => shared.inc(genes),
  });
  const addresses = readHubAddresses(settings);
  const hub = addresses.hubs.length === 0 ? undefined : createHubClient(addresses.hubs);
  return {
    exchange,
    addresses,
    isFederated: hub !== undefined,
    federatedSearch: createFederatedSearch({ ...services, policies, exchange, hub }),
    desk: createGeneDesk({ ...services }),
    onServed: (genes: number) => served.inc(genes),
  };
}
