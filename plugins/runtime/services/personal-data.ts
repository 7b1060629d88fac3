import type { Database } from 'agent-gateway';
import type { PersonalData, PersonalDataItem } from '../../platform/contract.ts';
import { storedName } from '../../records/contract.ts';
import { allStates, eraseStates } from '../store/agent-states.ts';
import { allAgents, eraseAgents, findAgent } from '../store/agents.ts';
import { findFilesOf } from '../store/files.ts';
import type { Files } from './files/files.ts';

/** Values of agents that are read at one time. */
const STATES = 50;
/** Files that are read at one time. */
const FILES = 500;

/** Agents of one tenant that an export looks for at most: it has far fewer. */
const AGENTS = 1_000;

/** What the runtime keeps is kept with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly files: Pick<Files, 'erase'>;
}

/**
 * What the runtime keeps about people (decisions 1.5): files, whose contents are downloaded by their ids, and what belongs to the tenant
 * and to no user: the state of agents, and their definitions.
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
      const page = await findFilesOf(database.forTenant(tenantId), name, { after, limit: FILES });
      for (const { id, userId, filename, mimeType, size, createdAt } of page) {
        const file = { id, user_id: userId, filename, mime_type: mimeType, size };
        yield { section: 'files', record: { ...file, created_at: createdAt.toISOString() } };
      }
      after = page.length < FILES ? undefined : page.at(-1)?.id;
    }
  }

  return {
    name: 'runtime',

    async *export({ tenantId, userId, signal }) {
      const name = userId === undefined ? undefined : storedName(userId);
      const sections = [
        fileItems(tenantId, name),
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
      const erased = await files.erase(entities, userId === undefined ? undefined : storedName(userId));
      return {
        files: erased,
        ...(userId === undefined && {
          agent_states: await eraseStates(entities),
          agents: await eraseAgents(entities),
        }),
      };
    },
  };
}
