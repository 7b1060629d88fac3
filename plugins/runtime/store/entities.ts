import type { EntityRegistration, Migration } from 'agent-gateway';
import { AgentStateEntity } from './agent-states.ts';
import { AgentTable } from './agents.ts';
import { ChatEventsTable } from './chat-events.ts';
import { ChatEntity } from './chats.ts';
import { ConversationEntity } from './conversations.ts';
import { FileEntity } from './files.ts';
import { agentStates } from './migrations/001-agent-states.ts';
import { filesMigration } from './migrations/002-files.ts';
import { conversations } from './migrations/003-conversations.ts';
import { webhooksMigration } from './migrations/004-webhooks.ts';
import { agentsMigration } from './migrations/005-agents.ts';
import { chatsMigration } from './migrations/006-chats.ts';
import { usersMigration } from './migrations/007-users.ts';
import { chatEventsMigration } from './migrations/008-chat-events.ts';
import { chatsByAge } from './migrations/009-chats-by-age.ts';
import { lists } from './migrations/010-lists.ts';
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

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  agentStates,
  filesMigration,
  conversations,
  webhooksMigration,
  agentsMigration,
  chatsMigration,
  usersMigration,
  chatEventsMigration,
  chatsByAge,
  lists,
];
