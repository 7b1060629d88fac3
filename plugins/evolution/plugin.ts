import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { EvolutionConfig } from './config.ts';
import { GeneExchangeRef, HubAddressesRef, SharingPoliciesRef } from './contract.ts';
import { geneRoutes } from './routes/genes.ts';
import { sharedKnowledgeRoutes } from './routes/shared-knowledge.ts';
import { globalSharingRoutes, tenantSharingRoutes } from './routes/sharing.ts';
import { openGenes } from './services/open-genes.ts';
import { createSharingData } from './services/personal-data.ts';
import { openSharing } from './services/sharing/policies.ts';
import { migrations } from './store/migrations.ts';
import { createSharedKnowledge } from './store/shared-knowledge.ts';
import { entities } from './store/tables.ts';

export default definePlugin({
  name: 'evolution',
  summary: 'Agents that learn from their runs, and what of it tenants share',
  kernel: '^1.0.0',
  config: EvolutionConfig,
  // The routes for genes belong to the v2 API (specification 3), those of governance to the gateway.
  listen: { field: 'address', below: '/api/' },
  entities,
  migrations,
  offers: [SharingPoliciesRef, GeneExchangeRef, HubAddressesRef],
  async setup(scope) {
    const { services, config: settings } = scope;
    const sharing = openSharing(scope);
    scope.provide(SharingPoliciesRef, sharing.policies);
    scope.contribute(PersonalDataPoint, createSharingData(services.database));
    const genes = openGenes(scope, sharing.policies);
    scope.provide(GeneExchangeRef, genes.exchange);
    scope.provide(HubAddressesRef, genes.addresses);
    scope.route(
      ...globalSharingRoutes(sharing),
      ...tenantSharingRoutes(sharing, services.tenants),
      ...sharedKnowledgeRoutes(createSharedKnowledge(services)),
      ...geneRoutes({ ...genes, settings }),
    );
    if (!settings.enabled) return;
    // Loaded only where agents learn: other deployments do not pay for it.
    const { startLearning } = await import('./services/start-learning.ts');
    startLearning(scope, genes.onServed);
  },
});
