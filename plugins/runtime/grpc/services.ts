import type { GrpcService, Scope } from 'agent-gateway';
import type { Agents, Guard, Models, Tools } from '../../agent-engine/contract.ts';
import type { Metering, Sessions } from '../../records/contract.ts';
import type { RuntimeSettings } from '../config.ts';
import type { AgentDefinitions } from '../services/admin/agent-definitions.ts';
import { createAgentStatusReader } from '../services/admin/agent-status.ts';
import { createModelDefinitions } from '../services/admin/model-definitions.ts';
import type { Chats } from '../services/chat/chats.ts';
import type { Conversations } from '../services/conversations.ts';
import { createModelTests } from '../services/model-tests.ts';
import { createToolCalls } from '../services/tool-calls.ts';
import { agentService } from './agent-service.ts';
import { conversationService } from './conversation-service.ts';
import { modelService } from './model-service.ts';
import { toolService } from './tool-service.ts';

/** The dependencies of the services. */
interface GrpcParts {
  readonly agents: Agents;
  readonly guard: Guard;
  readonly metering: Metering;
  readonly models: Models;
  readonly sessions: Sessions;
  readonly tools: Tools;
  readonly chats: Chats;
  readonly conversations: Conversations;
  readonly definitions: AgentDefinitions;
}

/** The gRPC API (specification 3, gRPC API; decisions 3.4). */
export function grpcServices(scope: Scope<RuntimeSettings>, parts: GrpcParts): readonly GrpcService[] {
  const { clock, database, resources } = scope.services;
  const { agents, models, tools, chats, conversations, definitions } = parts;
  return [
    agentService(definitions, createAgentStatusReader({ agents, resources })),
    conversationService(chats, conversations),
    modelService(models, createModelDefinitions(resources), createModelTests({ ...parts, clock, database })),
    toolService(tools, createToolCalls({ ...parts, clock })),
  ];
}
