/** What other plugins may know of the agent engine: models, agents, tools, guard and sandbox. */
export type {
  ChatMessage,
  ContentPart,
  Embeddings,
  ModelUse,
  Principal,
  ToolCall,
  ToolDefinition,
  Usage,
} from '../records/contract.ts';
export * from './contract/agent-definitions.ts';
export * from './contract/agent-turns.ts';
export * from './contract/agents.ts';
export * from './contract/chat-guards.ts';
export * from './contract/chats.ts';
export * from './contract/conversations.ts';
export * from './contract/embedders.ts';
export * from './contract/experience.ts';
export * from './contract/guard.ts';
export * from './contract/mcp-servers.ts';
export * from './contract/model-providers.ts';
export * from './contract/models.ts';
export * from './contract/redact-value.ts';
export * from './contract/run-context.ts';
export * from './contract/sandbox.ts';
export * from './contract/sandbox-engines.ts';
export * from './contract/thoughts.ts';
export * from './contract/tools.ts';
export * from './contract/turn-failed.ts';
