import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { EvolutionConfig } from './config.ts';
import { SharingPoliciesRef } from './contract.ts';
import { sharedKnowledgeRoutes } from './routes/shared-knowledge.ts';
import { globalSharingRoutes, tenantSharingRoutes } from './routes/sharing.ts';
import { createSharingData } from './services/personal-data.ts';
import { openSharing } from './services/sharing/policies.ts';
import { migrations } from './store/migrations.ts';
import { createSharedKnowledge } from './store/shared-knowledge.ts';
import { entities } from './store/tables.ts';

export default definePlugin({
  name: 'evolution',
  summary: 'What agents learn, and what of it tenants share',
  kernel: '^1.0.0',
  config: EvolutionConfig,
  entities,
  migrations,
  offers: [SharingPoliciesRef],
  setup(scope) {
    const { services } = scope;
    const sharing = openSharing(scope);
    scope.provide(SharingPoliciesRef, sharing.policies);
    scope.contribute(PersonalDataPoint, createSharingData(services.database));
    scope.route(
      ...globalSharingRoutes(sharing),
      ...tenantSharingRoutes(sharing, services.tenants),
      ...sharedKnowledgeRoutes(createSharedKnowledge(services)),
    );
  },
});
