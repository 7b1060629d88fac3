import type { EntityRegistration } from 'agent-gateway';
import { AgentStateEntity } from './agent-states.ts';
import { AgentTable } from './agents.ts';
import { ChatEventsTable } from './chat-events.ts';
import { ChatEntity } from './chats.ts';
import { ConversationEntity } from './conversations.ts';
import { FileEntity } from './files.ts';
import { UserTable } from './users.ts';
import { webhookEntities } from './webhooks.ts';

/** The tables of the runtime. All belong to tenants. */
export const entities: readonly EntityRegistration[] = [
  AgentStateEntity,
  FileEntity,
  ConversationEntity,
  ChatEntity,
  ...webhookEntities,
  AgentTable,
  UserTable,
  ChatEventsTable,
];
