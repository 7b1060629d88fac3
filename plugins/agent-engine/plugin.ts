import { DEFAULT_TENANT_ID, definePlugin } from 'agent-gateway';
import { AgentEngineConfig } from './config.ts';
import {
  AgentsRef,
  CheckpointsRef,
  EmbeddingsRef,
  GuardRef,
  MemoriesRef,
  MeteringRef,
  ModelsRef,
  PreamblesRef,
  PricingRulesRef,
  ProfilesRef,
  ProvisioningRef,
  ReceiptsRef,
  SandboxPoliciesRef,
  SandboxRef,
  SessionsRef,
  SkillsRef,
  SoulsRef,
  ToolsPoint,
  TurnsRef,
  UsageReportsRef,
} from './contract.ts';
import { openAgents } from './services/agents/open-agents.ts';
import { openGuard } from './services/guard/open-guard.ts';
import { openRecords } from './services/metering/open-records.ts';
import { openModelService } from './services/models/model-service.ts';
import { openTenantContext } from './services/preamble/open-tenant-context.ts';
import { overheadOf } from './services/sandbox/overhead.ts';
import { startSandbox } from './services/sandbox/start-sandbox.ts';
import { createSessions } from './services/sessions/sessions.ts';
import { createTurns } from './services/sessions/turns.ts';
import { BUILTIN_FOLDER, readCatalog } from './services/skills/skill-catalog.ts';
import { executeCode } from './services/tools/builtin/execute-code.ts';
import { createCheckpoints } from './store/checkpoints/checkpoints.ts';
import { entities, migrations } from './store/entities.ts';

export default definePlugin({
  name: 'agent-engine',
  summary: 'Models, agents with their tools and guardrails, and what is kept about their work',
  kernel: '^1.0.0',
  config: AgentEngineConfig,
  entities,
  migrations,
  points: [ToolsPoint],
  offers: [
    ModelsRef,
    EmbeddingsRef,
    GuardRef,
    AgentsRef,
    CheckpointsRef,
    SessionsRef,
    TurnsRef,
    ReceiptsRef,
    MeteringRef,
    UsageReportsRef,
    PricingRulesRef,
    SandboxRef,
    SandboxPoliciesRef,
    MemoriesRef,
    ProfilesRef,
    SkillsRef,
    SoulsRef,
    PreamblesRef,
    ProvisioningRef,
  ],
  async setup(scope) {
    const { clock, ids, database, leases } = scope.services;
    const sandbox = await startSandbox(scope);
    const catalog = await readCatalog(BUILTIN_FOLDER);
    const guard = openGuard(scope);
    const { models, embeddings } = openModelService(scope);
    const { receipts, metering, reports, pricing, policies } = openRecords(scope);
    const context = openTenantContext(scope, { embeddings, catalog, guard });
    const code = executeCode({ sandbox, policies, overheadMs: overheadOf(scope.config.sandbox) });
    const tools = [context.builtinTools, context.skillTools, code];
    const agents = openAgents(scope, { models, guard, receipts, policies, tools });

    scope.provide(ModelsRef, models);
    scope.provide(EmbeddingsRef, embeddings);
    scope.provide(GuardRef, guard);
    scope.provide(AgentsRef, agents);
    scope.provide(CheckpointsRef, createCheckpoints({ clock, ids }));
    scope.provide(SessionsRef, createSessions({ leases }));
    scope.provide(TurnsRef, createTurns({ database, leases, metering, clock, ids }));
    scope.provide(ReceiptsRef, receipts);
    scope.provide(MeteringRef, metering);
    scope.provide(UsageReportsRef, reports);
    scope.provide(PricingRulesRef, pricing);
    scope.provide(SandboxRef, sandbox);
    scope.provide(SandboxPoliciesRef, policies);
    scope.provide(MemoriesRef, context.memories);
    scope.provide(ProfilesRef, context.profiles);
    scope.provide(SkillsRef, context.skills);
    scope.provide(SoulsRef, context.souls);
    scope.provide(PreamblesRef, context.preambles);
    scope.provide(ProvisioningRef, context.provisioning);
    await context.provisioning.kick(DEFAULT_TENANT_ID);
  },
});
