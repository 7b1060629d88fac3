import { definePlugin } from 'agent-gateway';
import { ModelsRef } from '../agent-engine/contract.ts';
import { PlatformConfig } from './config.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { auditLogRoutes } from './routes/audit-logs.ts';
import { bootstrapRoutes } from './routes/bootstrap.ts';
import { chatCompletionsRoute } from './routes/chat-completions.ts';
import { egressLogRoute } from './routes/egress-log.ts';
import { egressRuleRoutes } from './routes/egress-rules.ts';
import { meRoute } from './routes/me.ts';
import { modelRoutes } from './routes/models.ts';
import { openApiRoute } from './routes/openapi.ts';
import { tenantApiKeyRoutes } from './routes/tenant-api-keys.ts';
import { tenantRoutes } from './routes/tenants.ts';
import { createAuditSearch } from './services/audit-search.ts';
import { createChatCompletions } from './services/chat-completions.ts';
import { createEgressAdministration } from './services/egress-administration.ts';
import { createKeyAdministration } from './services/key-administration.ts';
import { routeScopes } from './services/route-scopes.ts';
import { createTenantAdministration } from './services/tenant-administration.ts';

export default definePlugin({
  name: 'platform',
  summary: 'The core API: bootstrap, tenants, API keys, audit log, egress rules, models and chat completions',
  kernel: '^1.0.0',
  config: PlatformConfig,
  needs: { models: ModelsRef },
  onFailure: 'abort',
  setup(scope, { models }) {
    const { config, services } = scope;
    const { apiKeys, audit, clock, egress, ids, openapi, tenants, assertOutsideTransaction } = services;
    const search = createAuditSearch(audit);
    const keys = createKeyAdministration({
      apiKeys,
      tenants,
      clock,
      routeScopes: () => routeScopes(openapi()),
    });
    scope.route(
      ...bootstrapRoutes({ apiKeys, clock }),
      meRoute,
      ...tenantRoutes(createTenantAdministration({ tenants, clock, retention: config.tenant_retention })),
      ...apiKeyRoutes(keys),
      ...tenantApiKeyRoutes(keys),
      ...auditLogRoutes(search),
      ...egressRuleRoutes(createEgressAdministration(egress.rules)),
      egressLogRoute(search),
      ...modelRoutes(models),
      chatCompletionsRoute(createChatCompletions({ models, clock, ids, assertOutsideTransaction })),
      openApiRoute({ openapi }),
    );
  },
});
