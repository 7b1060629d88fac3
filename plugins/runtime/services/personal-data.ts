import type { Database } from 'agent-gateway';
import type { PersonalData, PersonalDataItem } from '../../platform/contract.ts';
import { storedName } from '../../records/contract.ts';
import { allStates, eraseStates } from '../store/agent-states.ts';
import { allAgents, eraseAgents, findAgent } from '../store/agents.ts';
import { allBatches, deleteEventsOf } from '../store/chat-events.ts';
import { deleteChatsOf, findChatsOf } from '../store/chats.ts';
import { deleteConversationsOf, findConversationsOf } from '../store/conversations.ts';
import { findFilesOf } from '../store/files.ts';
import type { Files } from './files/files.ts';

/** Values of agents that are read at one time. */
const STATES = 50;
/** Files and conversations that are read at one time. */
const PAGE = 500;
/** Chats that are read at one time, each with what was said in it. */
const CHATS = 10;

/** Agents of one tenant that an export looks for at most: it has far fewer. */
const AGENTS = 1_000;

/** What the runtime keeps is kept with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly files: Pick<Files, 'erase'>;
}

/**
 * What the runtime keeps about people (decisions 1.5): conversations, whose messages belong to `records`, files, whose contents are downloaded by their ids, chats of the v3
 * API, and what belongs to the tenant and to no user: the state of agents, and their definitions.
 */
export function createPersonalData({ database, files }: PersonalDataParts): PersonalData {
  async function* stateItems(tenantId: string): AsyncGenerator<PersonalDataItem> {
    for await (const row of allStates(database.forTenant(tenantId), STATES)) {
      const { agentId, key, value, updatedAt } = row;
      const record = {
        agent_id: agentId,
        key,
        value: JSON.parse(value),
        updated_at: updatedAt.toISOString(),
      };
      yield { section: 'agent_states', record };
    }
  }

  async function* agentItems(tenantId: string): AsyncGenerator<PersonalDataItem> {
    const entities = database.forTenant(tenantId);
    for (const { name } of await allAgents(entities, AGENTS)) {
      const found = await findAgent(entities, name);
      if (found === undefined) continue;
      const times = { created_at: found.createdAt, updated_at: found.updatedAt };
      const shown = Object.entries(times).map(([key, at]) => [key, new Date(at).toISOString()]);
      yield { section: 'agents', record: { name, yaml: found.yaml, ...Object.fromEntries(shown) } };
    }
  }

  async function* fileItems(tenantId: string, name: string | undefined): AsyncGenerator<PersonalDataItem> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await findFilesOf(database.forTenant(tenantId), name, { after, limit: PAGE });
      for (const { id, userId, filename, mimeType, size, createdAt } of page) {
        const file = { id, user_id: userId, filename, mime_type: mimeType, size };
        yield { section: 'files', record: { ...file, created_at: createdAt.toISOString() } };
      }
      after = page.length < PAGE ? undefined : page.at(-1)?.id;
    }
  }

  async function* conversationItems(
    tenantId: string,
    name: string | undefined,
  ): AsyncGenerator<PersonalDataItem> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await findConversationsOf(database.forTenant(tenantId), name, { after, limit: PAGE });
      for (const { id, userId, botId, title, metaData, createdAt } of page) {
        const conversation = { id, user_id: userId, bot_id: botId, created_at: createdAt.toISOString() };
        const record = { ...conversation, title: JSON.parse(title), meta_data: JSON.parse(metaData) };
        yield { section: 'conversations', record };
      }
      after = page.length < PAGE ? undefined : page.at(-1)?.id;
    }
  }

  async function* chatItems(tenantId: string, name: string | undefined): AsyncGenerator<PersonalDataItem> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await findChatsOf(database.forTenant(tenantId), name, { after, limit: CHATS });
      for (const { id, userId, conversationId, botId, status, createdAt, ...chat } of page) {
        const record = {
          ...{ id, user_id: userId, conversation_id: conversationId, bot_id: botId, status },
          meta_data: JSON.parse(chat.metaData),
          messages: JSON.parse(chat.messages),
          created_at: createdAt.toISOString(),
        };
        yield { section: 'chats', record };
      }
      after = page.length < CHATS ? undefined : page.at(-1)?.id;
    }
  }

  async function* eventItems(tenantId: string, name: string | undefined): AsyncGenerator<PersonalDataItem> {
    for await (const batch of allBatches(database.forTenant(tenantId), name)) {
      const { chatId, seq, sessionId, userId, events } = batch;
      const record = { chat_id: chatId, seq, session_id: sessionId, user_id: userId, events };
      if (events.length > 0) yield { section: 'chat_events', record };
    }
  }

  return {
    name: 'runtime',

    async *export({ tenantId, userId, signal }) {
      const name = userId === undefined ? undefined : storedName(userId);
      const sections = [
        conversationItems(tenantId, name),
        fileItems(tenantId, name),
        chatItems(tenantId, name),
        eventItems(tenantId, name),
        ...(name === undefined ? [stateItems(tenantId), agentItems(tenantId)] : []),
      ];
      for (const items of sections) {
        for await (const item of items) {
          if (signal.aborted) return;
          yield item;
        }
      }
    },

    async erase(entities, { userId }) {
      const name = userId === undefined ? undefined : storedName(userId);
      return {
        conversations: await deleteConversationsOf(entities, name),
        files: await files.erase(entities, name),
        chats: await deleteChatsOf(entities, name),
        chat_events: await deleteEventsOf(entities, name),
        ...(userId === undefined && {
          agent_states: await eraseStates(entities),
          agents: await eraseAgents(entities),
        }),
      };
    },
  };
}
