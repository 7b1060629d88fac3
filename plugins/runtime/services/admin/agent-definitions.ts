import {
  type Clock,
  type Database,
  DEFAULT_TENANT_ID,
  defineErrors,
  type FieldError,
  type Identity,
  isOperator,
  isUniqueViolation,
  KeyedMutex,
  type Leases,
  ResourceErrors,
  type Resources,
  type RowWrite,
} from 'agent-gateway';
import { type AgentCheck, AgentErrors, type AgentInfo, type Agents } from '../../../agent-engine/contract.ts';
import { isTenantAdmin } from '../../../records/contract.ts';
import {
  AgentTable,
  allAgents,
  deleteAgent,
  findAgent,
  insertAgent,
  updateAgent,
} from '../../store/agents.ts';
import type { WebhookEvents } from '../webhooks/webhook-events.ts';
import { type OwnFile, whyNotOurs, writeOwnFile } from './own-file.ts';
import { isResourceName } from './resource-name.ts';
import { nameOf } from './resource-yaml.ts';
import { MAX_AGENTS } from './tenant-agents.ts';

/** Characters of a definition: every replica keeps a tenant's definitions in memory. */
export const MAX_DEFINITION = 65_536;

/** How often a change is retried where concurrent callers change the agent. */
const CHANGE_ATTEMPTS = 10;

/** The errors of the administration of agents, in addition to `resource.*`. */
export const AgentAdminErrors = defineErrors({
  /** Carries `errors` with pointers into the document, each with its `line`. */
  invalid: { code: 'agent.definition-invalid', kind: 'invalid', title: 'The definition is not valid' },
  exists: { code: 'agent.exists', kind: 'conflict', title: 'There is an agent of this name' },
  inUse: { code: 'agent.in-use', kind: 'conflict', title: 'Other agents hand work over to this one' },
  tooMany: { code: 'agent.too-many', kind: 'conflict', title: 'The tenant has too many agents' },
  readOnly: { code: 'agent.read-only', kind: 'forbidden', title: 'The agent belongs to the deployment' },
  sharedFile: { code: 'agent.shared-file', kind: 'conflict', title: 'The file of the agent is not its own' },
  contended: { code: 'agent.contended', kind: 'conflict', title: 'Others change the agent at the same time' },
});

/** An agent as administrators see it. */
export interface AgentDetail extends AgentInfo {
  /**
   * Absent in lists, for agents of the deployment where the caller belongs to another tenant, and for callers who do
   * not administer.
   */
  readonly yaml?: string;
  /** Of a tenant's agent; milliseconds since the epoch. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

/** An agent as it was stored. */
export interface StoredAgent extends AgentDetail {
  /** Those of `check`. */
  readonly warnings: AgentCheck['warnings'];
}

interface AgentDefinitionsParts {
  readonly agents: Pick<Agents, 'list' | 'check'>;
  readonly resources: Pick<Resources, 'source' | 'write' | 'remove'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly leases: Pick<Leases, 'withLease'>;
  readonly events: Pick<WebhookEvents, 'writes' | 'emit'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Notifies replicas that the agents of a tenant have changed. */
  readonly changed: (tenantId: string) => void;
}

export type AgentDefinitions = ReturnType<typeof createAgentDefinitions>;

/**
 * The caller. Administrators see and change agents of their tenant; other callers see the agents that they may run,
 * without their text.
 */
export interface AgentCaller {
  readonly tenantId: string;
  readonly isAdmin: boolean;
  /** Whether the caller writes files of agents.d; all other administrators write in the database. */
  readonly isOperator: boolean;
}

/** What an identity may do with definitions. The route checks that a caller who changes one is an administrator. */
export function agentCaller(identity: Identity): AgentCaller {
  const isAdmin = isTenantAdmin(identity);
  return { tenantId: identity.tenantId, isAdmin, isOperator: isAdmin && isOperator(identity) };
}

/** Converts a problem, whose pointer leads into the document, to one that points into the request. */
export type TellProblem = (problem: FieldError) => FieldError;

type EventType = 'agent.created' | 'agent.updated' | 'agent.deleted';

/**
 * The definitions of agents (decisions 3.2): those of agents.d are files, which operators write and all tenants use; in
 * addition a tenant has its own in the database. Throws `agent.not-found` for those of other tenants too.
 */
export function createAgentDefinitions(parts: AgentDefinitionsParts) {
  const { agents, resources, database, leases, events, clock, changed } = parts;
  /**
   * Makes changes of one agent in this process one after the other; conflicts with other replicas are found in the
   * database.
   */
  const turns = new KeyedMutex();

  const fileAgents = async (tenantId: string) =>
    (await agents.list(tenantId)).filter(({ source }) => source === 'file');

  async function lookUp(caller: AgentCaller, name: string): Promise<AgentDetail | undefined> {
    const { tenantId, isAdmin, isOperator } = caller;
    const file = isOperator ? resources.source('Agent', name) : undefined;
    const live = (await fileAgents(tenantId)).find((agent) => agent.name === name);
    if (file !== undefined) return { ...(live ?? broken(name)), source: 'file', yaml: file.yaml };
    if (!isAdmin && live !== undefined) return live;
    // Also where a file has taken its name meanwhile, so that the tenant can still read and delete it.
    const own = isResourceName(name) ? await findAgent(database.forTenant(tenantId), name) : undefined;
    if (own === undefined || isAdmin) return own ?? live;
    const { yaml: _, ...shown } = own;
    return shown;
  }

  async function find(caller: AgentCaller, name: string): Promise<AgentDetail> {
    const found = await lookUp(caller, name);
    if (found === undefined) throw AgentErrors.notFound();
    return found;
  }

  /** `name` is the one that the definition must have; undefined: any. */
  async function checked(tenantId: string, yaml: string, toRequest: TellProblem, name?: string) {
    if (yaml.length > MAX_DEFINITION && [...yaml].length > MAX_DEFINITION) {
      throw invalid(
        [{ pointer: '', message: `must have at most ${MAX_DEFINITION} characters of YAML` }],
        toRequest,
      );
    }
    const { agent, errors, warnings } = await agents.check(tenantId, yaml);
    const isRenamed = name !== undefined && isOther(agent?.name ?? nameOf(yaml), name);
    const problems = isRenamed ? [...errors, renamed(name)] : errors;
    if (agent === undefined || problems.length > 0) throw invalid(problems, toRequest);
    return { agent, warnings };
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
      // Also after a failure: the commit may have happened although its answer was lost.
      changed(tenantId);
    }
  }

  async function writeFile(name: string, file: OwnFile, toRequest: TellProblem): Promise<AgentDetail> {
    await writeOwnFile(resources, file, (problems) => invalid(problems, toRequest));
    const type = file.before === undefined ? 'agent.created' : 'agent.updated';
    await events.emit(DEFAULT_TENANT_ID, reported(type, { name, source: 'file' }));
    return find({ tenantId: DEFAULT_TENANT_ID, isAdmin: true, isOperator: true }, name);
  }

  /** The file of agents.d that holds only this agent. */
  function ownFile(name: string, { isOperator }: AgentCaller): string {
    if (!isOperator) throw AgentAdminErrors.readOnly('Administrators of the default tenant change it.');
    const source = resources.source('Agent', name);
    if (source === undefined) throw AgentAdminErrors.sharedFile('Its file cannot be read: mend it there.');
    const why = whyNotOurs(source);
    if (why !== undefined) throw AgentAdminErrors.sharedFile(why);
    return source.file;
  }

  async function refuseUsed({ tenantId }: AgentCaller, name: string, source: AgentInfo['source']) {
    const others =
      source === 'file'
        ? await fileAgents(tenantId)
        : await allAgents(database.forTenant(tenantId), 2 * MAX_AGENTS);
    const users = others.filter(({ subAgents }) => subAgents.includes(name)).map((other) => other.name);
    if (users.length === 0) return;
    throw AgentAdminErrors.inUse(`It is a sub-agent of ${users.slice(0, 10).join(', ')}.`);
  }

  async function create(caller: AgentCaller, yaml: string, toRequest: TellProblem): Promise<StoredAgent> {
    const { tenantId, isOperator } = caller;
    const { agent, warnings } = await checked(tenantId, yaml, toRequest);
    const { name } = agent;
    const taken = () => AgentAdminErrors.exists(`The name ${name} is taken.`);
    if (resources.source('Agent', name) !== undefined) throw taken();
    if (isOperator)
      return { ...(await writeFile(name, { file: `${name}.yaml`, yaml }, toRequest)), warnings };
    // One at a time, or concurrent callers would pass the bound together.
    await leases.withLease(`agents:${tenantId}`, { strict: true }, async () => {
      if ((await database.forTenant(tenantId).count(AgentTable)) >= MAX_AGENTS) {
        throw AgentAdminErrors.tooMany(`A tenant can have ${MAX_AGENTS} agents.`);
      }
      try {
        await commit(tenantId, 'agent.created', name, insertAgent({ ...agent, yaml }, clock.now()));
      } catch (error) {
        throw isUniqueViolation(error) ? taken() : error;
      }
    });
    return { ...(await find(caller, name)), warnings };
  }

  /** Changes the current definition; undefined where another replica was faster. */
  async function changeOnce(
    caller: AgentCaller,
    name: string,
    change: (yaml: string) => string,
    toRequest: TellProblem,
  ): Promise<StoredAgent | undefined> {
    const { tenantId } = caller;
    const { source, yaml: before = '' } = await find(caller, name);
    const file = source === 'file' ? ownFile(name, caller) : undefined;
    const yaml = change(before);
    const { agent, warnings } = await checked(tenantId, yaml, toRequest, name);
    if (file !== undefined) {
      const written = await writeFile(name, { file, yaml, before }, toRequest).catch(ignoreChanged);
      return written && { ...written, warnings };
    }
    const write = updateAgent({ ...agent, yaml }, before, clock.now());
    if (!(await commit(tenantId, 'agent.updated', name, write))) return undefined;
    return { ...(await find(caller, name)), warnings };
  }

  async function update(
    caller: AgentCaller,
    name: string,
    change: (yaml: string) => string,
    toRequest: TellProblem,
  ): Promise<StoredAgent> {
    return turns.run(`${caller.tenantId}/${name}`, async () => {
      for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt += 1) {
        const changed = await changeOnce(caller, name, change, toRequest);
        if (changed !== undefined) return changed;
      }
      throw AgentAdminErrors.contended('Try again.');
    });
  }

  return {
    /** Throws `agent.not-found`. */
    get: find,

    /** Checks a definition without storing it. */
    check: agents.check,

    /**
     * The tenant's own agents, newest first; after them those of agents.d, by name. Administrators also see own agents
     * whose name an agent of agents.d has taken.
     */
    async list({ tenantId, isAdmin }: AgentCaller): Promise<readonly AgentDetail[]> {
      const files = await fileAgents(tenantId);
      const taken = new Set(isAdmin ? [] : files.map(({ name }) => name));
      const own = await allAgents(database.forTenant(tenantId), 2 * MAX_AGENTS);
      const shown = own.filter(({ name }) => !taken.has(name));
      return [...shown.toSorted((a, b) => b.createdAt - a.createdAt), ...files];
    },

    /** Throws `agent.definition-invalid`, `agent.exists`, `agent.too-many`; of files also `resource.*`. */
    create,

    /**
     * Changes the existing definition without losing concurrent changes: `change` may be called again. Throws
     * `agent.definition-invalid`, `agent.read-only`, `agent.shared-file`, `agent.contended`; of files also
     * `resource.*`.
     */
    update,

    /**
     * Creates the agent of a definition, or replaces its definition where it exists. Throws what `create` and `update`
     * throw.
     */
    async load(caller: AgentCaller, yaml: string, toRequest: TellProblem): Promise<AgentDetail> {
      const { agent } = await checked(caller.tenantId, yaml, toRequest);
      const { name } = agent;
      const found = await lookUp(caller, name);
      return found === undefined
        ? create(caller, yaml, toRequest)
        : update(caller, name, () => yaml, toRequest);
    },

    /** Throws `agent.in-use`, `agent.read-only`, `agent.shared-file`, `resource.not-writable`. */
    async remove(caller: AgentCaller, name: string): Promise<void> {
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

/** Of a name that cannot be one the definition's own check speaks. */
const isOther = (given: string | undefined, name: string) =>
  given !== undefined && isResourceName(given) && given !== name;

const renamed = (name: string) => ({
  pointer: '/metadata/name',
  message: `must be ${name}: make another agent, and delete this one, to change its name`,
});

function invalid(problems: readonly Pick<FieldError, 'pointer' | 'message'>[], toRequest: TellProblem) {
  return AgentAdminErrors.invalid(undefined, {
    errors: problems.map((problem) => toRequest({ ...problem })),
  });
}

/** Another replica has written or deleted the file. */
function ignoreChanged(error: unknown): undefined {
  if (!ResourceErrors.changed.is(error)) throw error;
}

/** The members of an agent whose file is invalid: shown so that an operator can correct it. */
const broken = (name: string) => ({
  name,
  description: '',
  model: '',
  subAgents: [],
  type: 'chat_model_agent' as const,
});
