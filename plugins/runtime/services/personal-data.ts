import {
  type Database,
  eachRow,
  type PersonalData,
  type PersonalRecord,
  type PersonalSection,
  type TenantEntityManager,
} from 'agent-gateway';
import { ofOwner, storedName } from '../../records/contract.ts';
import { AgentStateEntity } from '../store/agent-states.ts';
import { AgentTable } from '../store/agents.ts';
import { allBatches, ChatEventsTable } from '../store/chat-events.ts';
import { ChatEntity } from '../store/chats.ts';
import { ConversationEntity } from '../store/conversations.ts';
import { FileEntity } from '../store/files.ts';
import type { Files } from './files/files.ts';
import { toChat } from './v3-chat/chat-record.ts';

/** Rows that are read at one time where each may be large: values and definitions of agents, messages of chats. */
const LARGE = 10;

/** The dependencies of `createPersonalData`. */
interface PersonalDataParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly files: Pick<Files, 'erase'>;
  /** Notifies replicas that the agents of a tenant have changed. */
  readonly agentsChanged: (tenantId: string) => void;
}

/**
 * The personal data of the runtime (decisions 1.5): conversations, whose messages belong to `records`, files, whose
 * contents are downloaded by their ids, chats of the v3 API, and data that belongs to the tenant and to no user: the
 * state of agents, and their definitions.
 */
export function createPersonalData({ database, files, agentsChanged }: PersonalDataParts): PersonalData {
  /** A user's name as rows hold it. */
  const nameOf = (userId: string | undefined) => (userId === undefined ? undefined : storedName(userId));

  const ofUsers = (
    section: string,
    entity: PersonalSection['entities'][number],
    read: (entities: TenantEntityManager, name: string | undefined) => AsyncIterable<PersonalRecord>,
  ): PersonalSection => ({
    name: section,
    entities: [entity],
    read: ({ tenantId, userId }) => read(database.forTenant(tenantId), nameOf(userId)),
  });

  /** Records of the whole tenant; none for one user. */
  const ofTenant = (
    section: string,
    entity: PersonalSection['entities'][number],
    read: (entities: TenantEntityManager) => AsyncIterable<PersonalRecord>,
  ): PersonalSection => ({
    name: section,
    entities: [entity],
    async *read({ tenantId, userId }) {
      if (userId === undefined) yield* read(database.forTenant(tenantId));
    },
  });

  return {
    name: 'runtime',
    sections: [
      ofUsers('conversations', ConversationEntity, conversationRecords),
      ofUsers('files', FileEntity, fileRecords),
      ofUsers('chats', ChatEntity, chatRecords),
      ofUsers('chat_events', ChatEventsTable, eventRecords),
      ofTenant('agent_states', AgentStateEntity, stateRecords),
      ofTenant('agents', AgentTable, agentRecords),
    ],

    async erase(entities, { userId }) {
      const name = nameOf(userId);
      const erased = { conversations: 0, chats: 0, chat_events: 0 };
      for (const where of ofOwner(name)) {
        erased.conversations += await entities.erase(ConversationEntity, where);
        erased.chats += await entities.erase(ChatEntity, where);
        erased.chat_events += await entities.erase(ChatEventsTable, where);
      }
      return {
        ...erased,
        files: await files.erase(entities, name),
        ...(userId === undefined && {
          agent_states: await entities.erase(AgentStateEntity, {}),
          agents: await entities.erase(AgentTable, {}),
        }),
      };
    },

    erased({ tenantId, userId }) {
      if (userId === undefined) agentsChanged(tenantId);
    },
  };
}

const NEWEST_LAST = { by: ['createdAt', 'id'] } as const;

async function* conversationRecords(entities: TenantEntityManager, name: string | undefined) {
  for (const where of ofOwner(name)) {
    for await (const row of eachRow(entities, ConversationEntity, where, NEWEST_LAST)) {
      const { id, userId: user_id, botId: bot_id, title, metaData } = row;
      const texts = { title: JSON.parse(title), meta_data: JSON.parse(metaData) };
      yield { id, user_id, bot_id, ...texts, created_at: row.createdAt, updated_at: row.updatedAt };
    }
  }
}

async function* fileRecords(entities: TenantEntityManager, name: string | undefined) {
  for (const where of ofOwner(name)) {
    for await (const row of eachRow(entities, FileEntity, where, NEWEST_LAST)) {
      const { id, userId: user_id, filename, mimeType: mime_type, size, createdAt: created_at } = row;
      yield { id, user_id, filename, mime_type, size, created_at };
    }
  }
}

async function* chatRecords(entities: TenantEntityManager, name: string | undefined) {
  for (const where of ofOwner(name)) {
    for await (const row of eachRow(entities, ChatEntity, where, { by: ['id'], page: LARGE })) {
      const { id, userId: user_id, conversationId: conversation_id, botId: bot_id, status } = row;
      const texts = { meta_data: JSON.parse(row.metaData), messages: JSON.parse(row.messages) };
      const { usage, last_error } = toChat(row);
      yield {
        id,
        user_id,
        conversation_id,
        bot_id,
        status,
        ...texts,
        usage,
        last_error,
        created_at: row.createdAt,
        completed_at: row.completedAt,
      };
    }
  }
}

async function* eventRecords(entities: TenantEntityManager, name: string | undefined) {
  for await (const batch of allBatches(entities, name)) {
    const { chatId: chat_id, seq, sessionId: session_id, userId: user_id, events } = batch;
    if (events.length > 0) yield { chat_id, seq, session_id, user_id, events };
  }
}

async function* stateRecords(entities: TenantEntityManager) {
  const query = { by: ['agentId', 'key'], page: LARGE } as const;
  for await (const row of eachRow(entities, AgentStateEntity, {}, query)) {
    const { agentId: agent_id, key, value, updatedAt: updated_at } = row;
    yield { agent_id, key, value: JSON.parse(value), updated_at };
  }
}

async function* agentRecords(entities: TenantEntityManager) {
  for await (const row of eachRow(entities, AgentTable, {}, { by: ['name'], page: LARGE })) {
    const times = { created_at: new Date(row.createdAt), updated_at: new Date(row.updatedAt) };
    yield { name: row.name, yaml: JSON.parse(row.definition), ...times };
  }
}
