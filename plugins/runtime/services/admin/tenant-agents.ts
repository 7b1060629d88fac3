import { type Clock, createSharedCache, type Database, defineEvent, type Scope, Type } from 'agent-gateway';
import { type AgentInfo, type TenantAgents, TenantAgentsPoint } from '../../../agent-engine/contract.ts';
import { allAgents, findAgent, type StoredAgent } from '../../store/agents.ts';
import { isResourceName } from './resource-name.ts';

/** Agents of one tenant. */
export const MAX_AGENTS = 100;

/**
 * Milliseconds for which agents are cached where this process receives change events, and where it may not receive
 * them.
 */
const MAX_AGE_MS = 10_000;
const MAX_AGE_ALONE_MS = 1_000;
const MAX_ENTRIES = 10_000;

/** The agents of a tenant have changed. */
const AgentsChanged = defineEvent('runtime.agents-changed', Type.Object({ tenant_id: Type.String() }));

/** Provides the engine with the agents of tenants, from memory. `changed` makes every replica read them again. */
export function openTenantAgents(scope: Scope): { readonly changed: (tenantId: string) => void } {
  const { database, clock, events } = scope.services;
  const maxAge = events.reach === 'process' ? MAX_AGE_ALONE_MS : MAX_AGE_MS;
  const kept = createKeptAgents({ database, clock, maxAge });
  scope.on(AgentsChanged, ({ tenant_id }) => kept.forget(tenant_id));
  scope.defer(events.onMissed(kept.clear));
  scope.contribute(TenantAgentsPoint, kept.agents);
  return {
    changed(tenantId) {
      kept.forget(tenantId);
      events.emit(AgentsChanged, { tenant_id: tenantId });
    },
  };
}

interface KeptAgentsParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Clock;
  readonly maxAge: number;
}

function createKeptAgents({ database, clock, maxAge }: KeptAgentsParts) {
  const lists = createSharedCache<readonly AgentInfo[]>({
    load: (tenantId) => allAgents(database.forTenant(tenantId), 2 * MAX_AGENTS),
    clock,
    maxAge,
    maxEntries: MAX_ENTRIES,
    weigh: (list) => list.reduce((sum, { description }) => sum + 200 + description.length, 0),
  });
  const texts = createSharedCache<(StoredAgent & { readonly tenantId: string }) | undefined>({
    load: async (key) => {
      const { tenantId, name } = fromKey(key);
      const found = await findAgent(database.forTenant(tenantId), name);
      return found && { ...found, tenantId };
    },
    clock,
    maxAge,
    maxEntries: MAX_ENTRIES,
    weigh: ({ yaml }) => yaml.length,
  });
  const agents: TenantAgents = {
    list: (tenantId) => lists.get(tenantId),
    // A text that cannot be a name needs no query.
    find: (tenantId, name) => (isResourceName(name) ? texts.get(`${tenantId}/${name}`) : undefined),
  };
  return {
    agents,
    forget(tenantId: string) {
      lists.forget(tenantId);
      texts.clear();
    },
    clear() {
      lists.clear();
      texts.clear();
    },
  };
}

function fromKey(key: string): { readonly tenantId: string; readonly name: string } {
  const end = key.indexOf('/');
  return { tenantId: key.slice(0, end), name: key.slice(end + 1) };
}
