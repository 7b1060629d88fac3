import { definePlugin } from 'agent-gateway';
import { GeneExchangeRef, GeneMoved, HubAddressesRef, SharingPoliciesRef } from '../evolution/contract.ts';
import { HubConfig } from './config.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { eventRoutes } from './routes/events.ts';
import { federationRoutes } from './routes/federation.ts';
import { keyRoutes } from './routes/keys.ts';
import { nodeRoutes } from './routes/nodes.ts';
import { subscriptionRoutes } from './routes/subscriptions.ts';
import { AnnounceGene } from './services/announcements.ts';
import { hubEnvelopes, hubKeys } from './services/credentials.ts';
import { createHubLoader } from './services/load-hub.ts';
import { runHub } from './services/run-hub.ts';
import { migrations } from './store/migrations.ts';
import { entities } from './store/tables.ts';

export default definePlugin({
  name: 'hub',
  summary:
    'The experience hub: nodes, federated search of their genes, and subscriptions to what they report',
  kernel: '^1.0.0',
  config: HubConfig,
  listen: { field: 'address', isRequired: true },
  entities,
  migrations,
  jobs: [AnnounceGene],
  wants: { exchange: GeneExchangeRef, policies: SharingPoliciesRef, addresses: HubAddressesRef },
  setup(scope, experience) {
    const { config } = scope;
    const hub = createHubLoader(scope, experience);
    // Envelopes first: a caller that signs is a node, even if the request carries a key as well.
    scope.authenticate(hubEnvelopes(async () => (await hub.load()).envelopes));
    scope.authenticate(hubKeys(config.api_keys ?? []));
    const gate = { load: hub.load, hasKeys: (config.api_keys ?? []).length > 0 };
    scope.route(
      ...nodeRoutes(gate),
      ...federationRoutes(gate, experience.exchange),
      ...eventRoutes(gate),
      ...subscriptionRoutes(gate),
      ...keyRoutes(gate),
      ...dashboardRoutes(gate),
    );
    const isNode = (experience.addresses?.hubs.length ?? 0) > 0;
    runHub(scope, hub, isNode);
    if (isNode && experience.exchange !== undefined)
      scope.subscribe(
        GeneMoved,
        async (move, context) => (await hub.load()).announcements?.heard(move, context),
        {
          attempts: 30,
        },
      );
  },
});
