import {
  type Clock,
  type Database,
  DEFAULT_TENANT_ID,
  defineErrors,
  isUniqueViolation,
  type Page,
  type Resources,
  type RowWrite,
} from 'agent-gateway';
import { AgentErrors, type AgentInfo, type Agents } from '../../../agent-engine/contract.ts';
import {
  allAgents,
  countAgents,
  deleteAgent,
  findAgent,
  insertAgent,
  pageOfAgents,
  updateAgent,
} from '../../store/agents.ts';
import type { WebhookEvents } from '../webhooks/webhook-events.ts';
import { whyNotOurs } from './own-file.ts';
import { MAX_AGENTS } from './tenant-agents.ts';

/** What the administration of agents refuses, beside what `resource.*` says. */
export const AgentAdminErrors = defineErrors({
  /** Carries `errors` with pointers into the document, each with its `line`. */
  invalid: { code: 'agent.definition-invalid', kind: 'invalid', title: 'The definition is not valid' },
  exists: { code: 'agent.exists', kind: 'conflict', title: 'There is an agent of this name' },
  inUse: { code: 'agent.in-use', kind: 'conflict', title: 'Other agents hand work over to this one' },
  tooMany: { code: 'agent.too-many', kind: 'conflict', title: 'The tenant has too many agents' },
  readOnly: { code: 'agent.read-only', kind: 'forbidden', title: 'The agent belongs to the deployment' },
  sharedFile: { code: 'agent.shared-file', kind: 'conflict', title: 'The file of the agent is not its own' },
});

/** An agent as administrators see it. */
export interface AgentDetail extends AgentInfo {
  /** Absent in lists, and for agents of the deployment where another tenant asks. */
  readonly yaml?: string;
  /** Of a tenant's agent; milliseconds since the epoch. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

interface AgentDefinitionsParts {
  readonly agents: Pick<Agents, 'list' | 'check'>;
  readonly resources: Pick<Resources, 'source' | 'write' | 'remove'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly events: Pick<WebhookEvents, 'writes' | 'emit'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The agents of a tenant are other ones. */
  readonly changed: (tenantId: string) => void;
}

export type AgentDefinitions = ReturnType<typeof createAgentDefinitions>;

/** Who administers. An operator writes files of agents.d, everybody else in the database. */
export interface AgentAdmin {
  readonly tenantId: string;
  readonly isOperator: boolean;
}

type EventType = 'agent.created' | 'agent.updated' | 'agent.deleted';

/**
 * The definitions of agents (decisions 3.2): those of agents.d are files, which operators write and all read; beside them a tenant has its own
 * in the database. Throws `agent.not-found` for those of other tenants too.
 */
export function createAgentDefinitions(parts: AgentDefinitionsParts) {
  const { agents, resources, database, events, clock, changed } = parts;

  const fileAgents = async (tenantId: string) =>
    (await agents.list(tenantId)).filter(({ source }) => source === 'file');

  async function find({ tenantId, isOperator }: AgentAdmin, name: string): Promise<AgentDetail> {
    const file = isOperator ? resources.source('Agent', name) : undefined;
    const live = (await fileAgents(tenantId)).find((agent) => agent.name === name);
    if (file !== undefined) return { ...(live ?? broken(name)), source: 'file', yaml: file.yaml };
    // Also where a file has taken its name meanwhile: then it is here to be renamed.
    const found = (await findAgent(database.forTenant(tenantId), name)) ?? live;
    if (found === undefined) throw AgentErrors.notFound();
    return found;
  }

  async function checked(tenantId: string, yaml: string): Promise<AgentInfo> {
    const { agent, errors } = await agents.check(tenantId, yaml);
    if (agent !== undefined) return agent;
    const shown = errors.map(({ pointer, ...error }) => ({ ...error, pointer: `/body/yaml${pointer}` }));
    throw AgentAdminErrors.invalid(undefined, { errors: shown });
  }

  const reported = (type: EventType, { name, source }: Pick<AgentInfo, 'name' | 'source'>) => ({
    type,
    data: { name, source },
  });

  /** Writes a change of a tenant's agent with its event; false where it did not match. */
  async function commit(tenantId: string, type: EventType, name: string, write: RowWrite): Promise<boolean> {
    const published = await events.writes(tenantId, [reported(type, { name, source: 'tenant' })]);
    try {
      return await database.forTenant(tenantId).writeTogether([write, ...published]);
    } finally {
      // Also after a failure: a commit whose answer was lost has happened.
      changed(tenantId);
    }
  }

  async function writeFile(name: string, yaml: string, file: string, isNew: boolean): Promise<AgentDetail> {
    await resources.write(file, yaml, { isNew });
    const type = isNew ? 'agent.created' : 'agent.updated';
    await events.emit(DEFAULT_TENANT_ID, reported(type, { name, source: 'file' }));
    return find({ tenantId: DEFAULT_TENANT_ID, isOperator: true }, name);
  }

  /** The file of agents.d that holds the agent and nothing else. */
  function ownFile(name: string, { isOperator }: AgentAdmin): string {
    const source = isOperator ? resources.source('Agent', name) : undefined;
    if (source === undefined)
      throw AgentAdminErrors.readOnly('Administrators of the default tenant change it.');
    const why = whyNotOurs(source);
    if (why !== undefined) throw AgentAdminErrors.sharedFile(why);
    return source.file;
  }

  async function refuseUsed({ tenantId }: AgentAdmin, name: string, source: AgentInfo['source']) {
    const others =
      source === 'file'
        ? await fileAgents(tenantId)
        : await allAgents(database.forTenant(tenantId), 2 * MAX_AGENTS);
    const users = others.filter(({ subAgents }) => subAgents.includes(name)).map((other) => other.name);
    if (users.length === 0) return;
    throw AgentAdminErrors.inUse(`It is a sub-agent of ${users.slice(0, 10).join(', ')}.`);
  }

  return {
    get: find,

    /** What is wrong with a definition, and nothing more. */
    check: agents.check,

    /** The tenant's own, newest first; after them those of agents.d, by name. */
    async list(tenantId: string, { limit, offset }: Page) {
      const entities = database.forTenant(tenantId);
      const [own, count] = [await pageOfAgents(entities, { limit, offset }), await countAgents(entities)];
      const files = await fileAgents(tenantId);
      const start = Math.max(0, offset - count);
      const shown: readonly AgentDetail[] = [...own, ...files.slice(start, start + limit - own.length)];
      return { agents: shown, total: count + files.length };
    },

    /** Throws `agent.definition-invalid`, `agent.exists`, `agent.too-many`; of files also `resource.*`. */
    async create(caller: AgentAdmin, yaml: string): Promise<AgentDetail> {
      const { tenantId, isOperator } = caller;
      const agent = await checked(tenantId, yaml);
      const { name } = agent;
      const taken = () => AgentAdminErrors.exists(`The name ${name} is taken.`);
      if (resources.source('Agent', name) !== undefined) throw taken();
      if (isOperator) return writeFile(name, yaml, `${name}.yaml`, true);
      if ((await countAgents(database.forTenant(tenantId))) >= MAX_AGENTS) {
        throw AgentAdminErrors.tooMany(`A tenant can have ${MAX_AGENTS} agents.`);
      }
      try {
        await commit(tenantId, 'agent.created', name, insertAgent({ ...agent, yaml }, clock.now()));
      } catch (error) {
        throw isUniqueViolation(error) ? taken() : error;
      }
      return find(caller, name);
    },

    /** Throws `agent.definition-invalid`, `agent.read-only`, `agent.shared-file`; of files also `resource.*`. */
    async update(caller: AgentAdmin, name: string, yaml: string): Promise<AgentDetail> {
      const { tenantId } = caller;
      const { source } = await find(caller, name);
      const file = source === 'file' ? ownFile(name, caller) : undefined;
      const agent = await checked(tenantId, yaml);
      if (agent.name !== name) {
        const message = `must be ${name}: make another agent, and delete this one, to change its name`;
        const errors = [{ pointer: '/body/yaml/metadata/name', message }];
        throw AgentAdminErrors.invalid(undefined, { errors });
      }
      if (file !== undefined) return writeFile(name, yaml, file, false);
      const write = updateAgent({ ...agent, yaml }, clock.now());
      if (!(await commit(tenantId, 'agent.updated', name, write))) throw AgentErrors.notFound();
      return find(caller, name);
    },

    /** Throws `agent.in-use`, `agent.read-only`, `agent.shared-file`, `resource.not-writable`. */
    async remove(caller: AgentAdmin, name: string): Promise<void> {
      const { tenantId } = caller;
      const { source } = await find(caller, name);
      const file = source === 'file' ? ownFile(name, caller) : undefined;
      await refuseUsed(caller, name, source);
      if (file !== undefined) {
        await resources.remove(file);
        await events.emit(tenantId, reported('agent.deleted', { name, source }));
      } else if (!(await commit(tenantId, 'agent.deleted', name, deleteAgent(name)))) {
        throw AgentErrors.notFound();
      }
    },
  };
}

/** What is shown of an agent whose file is bad: it is here to be mended. */
const broken = (name: string) => ({
  ...{ name, description: '', model: '', subAgents: [] },
  type: 'chat_model_agent' as const,
});
