import { definePlugin, PersonalDataPoint, RetentionPoint } from 'agent-gateway';
import {
  EmbeddingsPoint,
  MemoriesRef,
  MeteringRef,
  PreamblesRef,
  ReceiptsRef,
  SessionDataPoint,
  SessionsRef,
  SkillsRef,
  TurnsRef,
} from '../records/contract.ts';
import { AgentEngineConfig } from './config.ts';
import {
  AgentsRef,
  AgentTurnsRef,
  ChatGuardsPoint,
  ChatsRef,
  CheckpointsRef,
  ConversationsRef,
  EmbeddersPoint,
  EmbeddingsRef,
  ExperiencePoint,
  GuardRef,
  McpServersRef,
  ModelProvidersPoint,
  ModelsRef,
  SandboxEnginesPoint,
  SandboxPoliciesRef,
  SandboxRef,
  TenantAgentsPoint,
  ToolsPoint,
  ToolsRef,
} from './contract.ts';
import { openChatGuards } from './services/guard/chat/chat-guards.ts';
import { openGuard } from './services/guard/create-guard.ts';
import { openAgents } from './services/loop/open-agents.ts';
import { openModelService } from './services/open-model-service.ts';
import { createPersonalData } from './services/personal-data.ts';
import { openSandboxPolicies } from './services/policies/sandbox-policies.ts';
import { startSandbox } from './services/sandbox/open-sandbox.ts';
import { overheadOf } from './services/sandbox/sandbox-config.ts';
import { executeCode } from './services/tools/execute-code.ts';
import { recordTools } from './services/tools/skill-tools.ts';
import { createAgentTurns } from './services/turns/agent-turns.ts';
import { createChats } from './services/turns/chats.ts';
import { createConversations } from './services/turns/conversations.ts';
import { createCheckpoints, forgetCheckpoints, retainedCheckpoints } from './store/checkpoints.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations.ts';

export default definePlugin({
  name: 'agent-engine',
  summary: 'Models, agents with their tools and guardrails, and the sandbox for code',
  kernel: '^1.0.0',
  config: AgentEngineConfig,
  entities,
  migrations,
  needs: {
    memories: MemoriesRef,
    metering: MeteringRef,
    preambles: PreamblesRef,
    receipts: ReceiptsRef,
    sessions: SessionsRef,
    skills: SkillsRef,
    turns: TurnsRef,
  },
  points: [
    ToolsPoint,
    TenantAgentsPoint,
    ChatGuardsPoint,
    ModelProvidersPoint,
    EmbeddersPoint,
    SandboxEnginesPoint,
    ExperiencePoint,
  ],
  offers: [
    ModelsRef,
    EmbeddingsRef,
    GuardRef,
    AgentsRef,
    AgentTurnsRef,
    ChatsRef,
    CheckpointsRef,
    ConversationsRef,
    SandboxRef,
    SandboxPoliciesRef,
    ToolsRef,
    McpServersRef,
  ],
  async setup(scope, records) {
    const { memories, receipts, skills } = records;
    const { clock, ids, database, objects, durableEvents } = scope.services;
    const sandbox = await startSandbox(scope);
    const guard = openGuard(scope);
    const openGuards = openChatGuards(scope);
    const { models, embeddings } = await openModelService(scope);
    const policies = openSandboxPolicies(scope);
    const sources = [
      ...recordTools({ memories, skills, database, objects, guard }),
      executeCode({ sandbox, policies, overheadMs: overheadOf(scope.config.sandbox) }),
    ];
    const { agents, tools, mcp } = openAgents(scope, {
      models,
      guard,
      openGuards,
      receipts,
      policies,
      tools: sources,
    });

    const { preamble_tokens: preambleTokens, history_tokens: historyTokens } = scope.config;
    const budget = { preambleTokens, historyTokens };
    const conversations = createConversations({
      ...records,
      guard,
      openGuards,
      database,
      durableEvents,
      budget,
    });
    const checkpoints = createCheckpoints({ clock, ids });
    const turns = createAgentTurns({ ...records, agents, models, conversations, checkpoints, database });

    scope.provide(ModelsRef, models);
    scope.provide(EmbeddingsRef, embeddings);
    scope.provide(GuardRef, guard);
    scope.provide(AgentsRef, agents);
    scope.provide(CheckpointsRef, checkpoints);
    scope.provide(ConversationsRef, conversations);
    scope.provide(AgentTurnsRef, turns);
    scope.provide(ChatsRef, createChats({ turns, tenants: scope.services.tenants, ids, log: scope.log }));
    scope.provide(SandboxRef, sandbox);
    scope.provide(SandboxPoliciesRef, policies);
    scope.provide(ToolsRef, tools);
    scope.provide(McpServersRef, mcp);
    scope.contribute(EmbeddingsPoint, embeddings);
    scope.contribute(SessionDataPoint, { remove: forgetCheckpoints });
    scope.contribute(RetentionPoint, retainedCheckpoints(database));
    scope.contribute(PersonalDataPoint, createPersonalData({ database, guard }));
  },
});
