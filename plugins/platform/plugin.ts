import {
  definePlugin,
  PersonalDataPoint,
  RetentionPoint,
  retainedApiKeys,
  StoredObjectsPoint,
} from 'agent-gateway';
import {
  AgentTurnsRef,
  ConversationsRef,
  GuardRef,
  ModelsRef,
  SandboxPoliciesRef,
} from '../agent-engine/contract.ts';
import {
  MemoriesRef,
  MeteringRef,
  PricingRulesRef,
  ProfilesRef,
  ProvisioningRef,
  ReceiptsRef,
  RetentionRef,
  SessionsRef,
  SkillsRef,
  SoulsRef,
  TurnsRef,
  UsageReportsRef,
} from '../records/contract.ts';
import { PlatformConfig } from './config.ts';
import { apiKeyRoutes, tenantApiKeyRoutes } from './routes/api-keys.ts';
import { auditLogRoutes } from './routes/audit-logs.ts';
import { chatRoutes } from './routes/chat.ts';
import { dataProtectionRoutes } from './routes/data-protection.ts';
import { egressLogRoute, egressRuleRoutes } from './routes/egress.ts';
import { executionReceiptRoutes } from './routes/execution-receipts.ts';
import { bootstrapRoutes, meRoute, openApiRoute } from './routes/identity.ts';
import { memoryRoutes, profileRoutes } from './routes/memories.ts';
import { modelRoutes } from './routes/models.ts';
import { pricingRuleRoutes } from './routes/pricing-rules.ts';
import { retentionRoutes } from './routes/retention.ts';
import { sandboxPolicyRoutes } from './routes/sandbox-policy.ts';
import { mockSessionRoute, sessionRoutes } from './routes/sessions.ts';
import { skillRoutes, soulRoutes } from './routes/skills.ts';
import { tenantRoutes } from './routes/tenants.ts';
import { adminUsageRoutes, usageRoutes } from './routes/usage.ts';
import { createAgentChat } from './services/chat/agent-chat.ts';
import { createChatCompletions } from './services/chat/chat-completions.ts';
import { RenameInAudit } from './services/data-protection/data-protection.ts';
import { openDataProtection } from './services/data-protection/open-data-protection.ts';
import { createEgressAdministration } from './services/egress-administration.ts';
import { createKeyAdministration, routeScopes } from './services/key-administration.ts';
import { createRetentionAdministration } from './services/retention-administration.ts';
import { createSandboxPolicyAdministration } from './services/sandbox-policy-administration.ts';
import { createTenantAdministration } from './services/tenant-administration.ts';
import { createUsageAdministration } from './services/usage-administration.ts';

export default definePlugin({
  name: 'platform',
  summary:
    'The core API: tenants, keys, chat, sessions, memories, skills, receipts, usage and administration',
  kernel: '^1.0.0',
  config: PlatformConfig,
  needs: {
    agentTurns: AgentTurnsRef,
    conversations: ConversationsRef,
    guard: GuardRef,
    memories: MemoriesRef,
    metering: MeteringRef,
    models: ModelsRef,
    policies: SandboxPoliciesRef,
    pricing: PricingRulesRef,
    profiles: ProfilesRef,
    provisioning: ProvisioningRef,
    receipts: ReceiptsRef,
    reports: UsageReportsRef,
    retention: RetentionRef,
    sessions: SessionsRef,
    skills: SkillsRef,
    souls: SoulsRef,
    turns: TurnsRef,
  },
  points: [PersonalDataPoint, StoredObjectsPoint],
  jobs: [RenameInAudit],
  onFailure: 'abort',
  setup(scope, engine) {
    const { config, services } = scope;
    const { apiKeys, audit, clock, database, egress, ids, openapi, tenants } = services;
    const { models, policies, pricing, provisioning, reports, sessions, turns } = engine;
    const keys = createKeyAdministration({
      apiKeys,
      tenants,
      clock,
      routeScopes: () => routeScopes(openapi()),
    });
    const chat = { ...engine, clock, ids };
    const { data, cleanUp } = openDataProtection(scope);
    scope.contribute(RetentionPoint, retainedApiKeys(database));
    const retention = config.tenant_retention;
    scope.route(
      ...bootstrapRoutes(apiKeys, clock),
      meRoute,
      ...tenantRoutes(createTenantAdministration({ tenants, clock, retention, provisioning })),
      ...apiKeyRoutes(keys),
      ...tenantApiKeyRoutes(keys),
      ...auditLogRoutes(audit),
      ...egressRuleRoutes(createEgressAdministration(egress.rules)),
      egressLogRoute(audit),
      ...modelRoutes(models),
      ...chatRoutes(createChatCompletions(chat), createAgentChat({ ...chat, turns: engine.agentTurns })),
      ...sessionRoutes(sessions, turns),
      ...memoryRoutes(engine.memories),
      ...profileRoutes(engine.profiles),
      ...skillRoutes(engine.skills),
      ...soulRoutes(engine.souls),
      ...executionReceiptRoutes(engine.receipts),
      ...usageRoutes(reports, database.clock),
      ...adminUsageRoutes(createUsageAdministration({ reports, tenants, database }), database.clock),
      ...pricingRuleRoutes(pricing),
      ...sandboxPolicyRoutes(createSandboxPolicyAdministration({ policies, tenants, database })),
      ...retentionRoutes(createRetentionAdministration({ retention: engine.retention, tenants })),
      ...dataProtectionRoutes(data, cleanUp),
      openApiRoute({ openapi }),
    );
    if (config.enable_mock_sessions) scope.route(mockSessionRoute(sessions, turns));
  },
});
