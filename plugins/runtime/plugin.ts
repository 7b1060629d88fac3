import { definePlugin, PersonalDataPoint, RetentionPoint, StoredObjectsPoint } from 'agent-gateway';
import {
  AgentsRef,
  AgentTurnsRef,
  CheckpointsRef,
  ConversationsRef,
  GuardRef,
  McpServersRef,
  ModelsRef,
  ToolsRef,
} from '../agent-engine/contract.ts';
import { MemoriesRef, MeteringRef, SessionDataPoint, SessionsRef, SkillsRef } from '../records/contract.ts';
import { WorkflowDefinitionsRef, WorkflowEngineRef } from '../workflow/contract.ts';
import { RuntimeConfig } from './config.ts';
import { grpcServices } from './grpc/services.ts';
import { agentAdminRoutes } from './routes/admin-agents.ts';
import { mcpRoutes } from './routes/admin-mcp.ts';
import { systemRoutes } from './routes/admin-system.ts';
import { userRoutes } from './routes/admin-users.ts';
import { agentStateRoutes } from './routes/agent-states.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { chatRoutes } from './routes/chat.ts';
import { conversationRoutes, sessionRoutes } from './routes/conversations.ts';
import { fileRoutes } from './routes/files.ts';
import { healthRoutes, metricsRoute } from './routes/health.ts';
import { longTermMemoryRoutes } from './routes/long-term-memory.ts';
import { meRoute } from './routes/me.ts';
import { underV2 } from './routes/paths.ts';
import { v1ConversationRoutes } from './routes/v1-conversations.ts';
import { v3ChatRoutes } from './routes/v3-chat.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workflowRoutes } from './routes/workflows.ts';
import { createAgentDefinitions } from './services/admin/agent-definitions.ts';
import { createLogReaders } from './services/admin/log-readers.ts';
import { createMcpAdministration } from './services/admin/mcp-servers.ts';
import { createSystem } from './services/admin/system.ts';
import { openTenantAgents } from './services/admin/tenant-agents.ts';
import { createUserData } from './services/admin/user-data.ts';
import { createUsers, RevokeUserKeys, revokeUserKeys } from './services/admin/users.ts';
import { adminKey } from './services/admin-key.ts';
import { createAgentStates } from './services/agent-states.ts';
import { backgroundChatKey, openBackgroundChats } from './services/chat/background-chats.ts';
import { createChats } from './services/chat/chats.ts';
import { reportedTurns } from './services/chat/reported-turns.ts';
import { createConversations } from './services/conversations.ts';
import { drainChats } from './services/detached-chats.ts';
import { endWithCredential } from './services/end-with-credential.ts';
import {
  createFiles,
  FileContents,
  fileReferences,
  removeContents,
  retainedFiles,
} from './services/files/files.ts';
import { createPersonalData } from './services/personal-data.ts';
import { retainedConversations } from './services/retained-conversations.ts';
import { createConversationMessages } from './services/v3-chat/conversation-messages.ts';
import { createV3Chats, v3ChatKey } from './services/v3-chat/v3-chats.ts';
import { DeliverWebhook } from './services/webhooks/deliveries.ts';
import { openWebhooks } from './services/webhooks/open-webhooks.ts';
import { createWorkflowChats } from './services/workflows/workflow-chats.ts';
import { createWorkflowRuns } from './services/workflows/workflow-runs.ts';
import { deleteChatsIn, retainedChats } from './store/chats.ts';
import { entities } from './store/entities.ts';
import { migrations } from './store/migrations.ts';

export default definePlugin({
  name: 'runtime',
  summary:
    'The v2 API: streaming chat with agents, conversations, files, memory, state, and their administration',
  kernel: '^1.0.0',
  config: RuntimeConfig,
  listen: { field: 'address', isRequired: true },
  entities,
  migrations,
  jobs: [FileContents, DeliverWebhook, RevokeUserKeys],
  needs: {
    agents: AgentsRef,
    turns: AgentTurnsRef,
    checkpoints: CheckpointsRef,
    guard: GuardRef,
    openings: ConversationsRef,
    mcpServers: McpServersRef,
    memories: MemoriesRef,
    metering: MeteringRef,
    models: ModelsRef,
    sessions: SessionsRef,
    skills: SkillsRef,
    tools: ToolsRef,
  },
  wants: { workflows: WorkflowEngineRef, definitions: WorkflowDefinitionsRef },
  setup(scope, engine) {
    const { services, log, config } = scope;
    const { clock, ids, database, objects } = services;
    const { webhooks, events: webhookEvents } = openWebhooks(scope, engine);
    const turns = reportedTurns(engine.turns, webhookEvents);
    const conversations = createConversations({ ...engine, clock, ids });
    const v3Chats = createV3Chats({ ...services, ...engine, turns, conversations });
    const said = createConversationMessages({ ...engine, conversations, chats: v3Chats });
    const runs = createWorkflowRuns(engine);
    const workflowChats = createWorkflowChats({ ...services, runs, conversations, said });
    const states = createAgentStates({ ...engine, clock });
    const files = createFiles({ ...services, log, maxSize: config.max_file_size });
    const background = openBackgroundChats(scope);
    endWithCredential(scope, [backgroundChatKey, v3ChatKey]);
    const chats = createChats({ ...engine, turns, conversations, background, database, clock });
    const { changed } = openTenantAgents(scope);
    const admin = { ...engine, ...services, events: webhookEvents };
    const definitions = createAgentDefinitions({ ...admin, changed });
    const system = createSystem(admin);
    const health = healthRoutes(system, services.deployment);
    const readers = createLogReaders(services.deployment);
    scope.drain('log-readers', async () => readers.close());

    if (config.admin_api_key !== undefined) scope.authenticate(adminKey(config.admin_api_key));
    scope.worker(RevokeUserKeys, revokeUserKeys(services.apiKeys));
    scope.contribute(PersonalDataPoint, createUserData(database, services.jobs));
    scope.worker(FileContents, removeContents(objects));
    scope.contribute(PersonalDataPoint, createPersonalData({ database, files, agentsChanged: changed }));
    scope.contribute(StoredObjectsPoint, fileReferences(database));
    scope.contribute(SessionDataPoint, { remove: deleteChatsIn });
    drainChats(scope, 'v3 chats', v3Chats.close);
    scope.contribute(RetentionPoint, retainedChats(database));
    scope.contribute(RetentionPoint, retainedConversations(database, engine.sessions));
    scope.contribute(RetentionPoint, retainedFiles(database, files));
    scope.route(
      ...health,
      ...v3ChatRoutes(v3Chats),
      ...v1ConversationRoutes(said),
      ...workflowRoutes(runs, workflowChats),
    );
    scope.route(
      ...underV2([
        ...health,
        metricsRoute(services.deployment),
        meRoute,
        ...catalogRoutes(engine),
        ...chatRoutes(chats),
        ...conversationRoutes(conversations),
        ...sessionRoutes(engine.sessions),
        ...agentStateRoutes(states),
        ...longTermMemoryRoutes(engine.memories),
        ...fileRoutes(files, config.max_file_size),
        ...webhookRoutes(webhooks),
        ...systemRoutes(system, readers),
        ...agentAdminRoutes(definitions),
        ...mcpRoutes(createMcpAdministration(admin)),
        ...userRoutes(createUsers(services)),
      ]),
    );
    scope.grpc(...grpcServices(scope, { ...engine, chats, conversations, definitions }));
  },
});
