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
  type Resources,
  type RowWrite,
} from 'agent-gateway';
import { AgentErrors, type AgentInfo, type Agents } from '../../../agent-engine/contract.ts';
import { isTenantAdmin } from '../../../records/contract.ts';
import {
  allAgents,
  countAgents,
  deleteAgent,
  findAgent,
  insertAgent,
  updateAgent,
} from '../../store/agents.ts';
import type { WebhookEvents } from '../webhooks/webhook-events.ts';
import { type OwnFile, whyNotOurs, writeOwnFile } from './own-file.ts';
import { isResourceName } from './resource-name.ts';
import { MAX_AGENTS } from './tenant-agents.ts';

/** Characters of a definition: a tenant's text is kept in the memory of every replica. */
export const MAX_DEFINITION = 65_536;

/** How often a change looks again at an agent that others change meanwhile. */
const CHANGE_ATTEMPTS = 10;

/** What the administration of agents refuses, beside what `resource.*` says. */
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
  /** Absent in lists, for agents of the deployment where another tenant asks, and for those who do not administer. */
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

/** Who asks. Administrators see and change what belongs to their tenant; others see what they may run, and no text. */
export interface AgentCaller {
  readonly tenantId: string;
  readonly isAdmin: boolean;
  /** An administrator who writes files of agents.d; every other one writes in the database. */
  readonly isOperator: boolean;
}

/** What an identity may do with definitions. That who changes one is an administrator is the rule of the route. */
export function agentCaller(identity: Identity): AgentCaller {
  const isAdmin = isTenantAdmin(identity);
  return { tenantId: identity.tenantId, isAdmin, isOperator: isAdmin && isOperator(identity) };
}

/** Tells of a problem, whose pointer leads into the document, in terms of the request. */
export type TellProblem = (problem: FieldError) => FieldError;

type EventType = 'agent.created' | 'agent.updated' | 'agent.deleted';

/**
 * The definitions of agents (decisions 3.2): those of agents.d are files, which operators write and all read; beside them a tenant has its own
 * in the database. Throws `agent.not-found` for those of other tenants too.
 */
export function createAgentDefinitions(parts: AgentDefinitionsParts) {
  const { agents, resources, database, events, clock, changed } = parts;
  /** Changes of one agent follow each other; those of other replicas the database tells apart. */
  const turns = new KeyedMutex();

  const fileAgents = async (tenantId: string) =>
    (await agents.list(tenantId)).filter(({ source }) => source === 'file');

  async function lookUp(caller: AgentCaller, name: string): Promise<AgentDetail | undefined> {
    const { tenantId, isAdmin, isOperator } = caller;
    const file = isOperator ? resources.source('Agent', name) : undefined;
    const live = (await fileAgents(tenantId)).find((agent) => agent.name === name);
    if (file !== undefined) return { ...(live ?? broken(name)), source: 'file', yaml: file.yaml };
    if (!isAdmin && live !== undefined) return live;
    // Also where a file has taken its name meanwhile: then it is here to be renamed.
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

  async function checked(tenantId: string, yaml: string, tell: TellProblem): Promise<AgentInfo> {
    if (yaml.length > MAX_DEFINITION && [...yaml].length > MAX_DEFINITION) {
      throw invalid(
        [{ pointer: '', message: `must have at most ${MAX_DEFINITION} characters of YAML` }],
        tell,
      );
    }
    const { agent, errors } = await agents.check(tenantId, yaml);
    if (agent === undefined) throw invalid(errors, tell);
    return agent;
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

  async function writeFile(name: string, file: OwnFile, tell: TellProblem): Promise<AgentDetail> {
    await writeOwnFile(resources, file, (problems) => invalid(problems, tell));
    const type = file.isNew ? 'agent.created' : 'agent.updated';
    await events.emit(DEFAULT_TENANT_ID, reported(type, { name, source: 'file' }));
    return find({ tenantId: DEFAULT_TENANT_ID, isAdmin: true, isOperator: true }, name);
  }

  /** The file of agents.d that holds the agent and nothing else. */
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

  async function create(caller: AgentCaller, yaml: string, tell: TellProblem): Promise<AgentDetail> {
    const { tenantId, isOperator } = caller;
    const agent = await checked(tenantId, yaml, tell);
    const { name } = agent;
    const taken = () => AgentAdminErrors.exists(`The name ${name} is taken.`);
    if (resources.source('Agent', name) !== undefined) throw taken();
    if (isOperator) return writeFile(name, { file: `${name}.yaml`, yaml, isNew: true }, tell);
    if ((await countAgents(database.forTenant(tenantId))) >= MAX_AGENTS) {
      throw AgentAdminErrors.tooMany(`A tenant can have ${MAX_AGENTS} agents.`);
    }
    try {
      await commit(tenantId, 'agent.created', name, insertAgent({ ...agent, yaml }, clock.now()));
    } catch (error) {
      throw isUniqueViolation(error) ? taken() : error;
    }
    return find(caller, name);
  }

  /** Changes the agent as it is; undefined where another replica was faster. */
  async function changeOnce(
    caller: AgentCaller,
    name: string,
    change: (yaml: string) => string,
    tell: TellProblem,
  ): Promise<AgentDetail | undefined> {
    const { tenantId } = caller;
    const { source, yaml: before = '' } = await find(caller, name);
    const file = source === 'file' ? ownFile(name, caller) : undefined;
    const yaml = change(before);
    const agent = await checked(tenantId, yaml, tell);
    if (agent.name !== name) {
      const message = `must be ${name}: make another agent, and delete this one, to change its name`;
      throw invalid([{ pointer: '/metadata/name', message }], tell);
    }
    if (file !== undefined) return writeFile(name, { file, yaml, isNew: false }, tell);
    const write = updateAgent({ ...agent, yaml }, before, clock.now());
    return (await commit(tenantId, 'agent.updated', name, write)) ? find(caller, name) : undefined;
  }

  async function update(
    caller: AgentCaller,
    name: string,
    change: (yaml: string) => string,
    tell: TellProblem,
  ): Promise<AgentDetail> {
    return turns.run(`${caller.tenantId}/${name}`, async () => {
      for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt += 1) {
        const changed = await changeOnce(caller, name, change, tell);
        if (changed !== undefined) return changed;
      }
      throw AgentAdminErrors.contended('Try again.');
    });
  }

  return {
    /** Throws `agent.not-found`. */
    get: find,

    /** What is wrong with a definition, and nothing more. */
    check: agents.check,

    /**
     * The tenant's own, newest first; after them those of agents.d, by name. Administrators see also those of their own that agents.d has taken
     * the name from.
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
     * Makes another definition of the one that there is, and nothing that is written meanwhile is lost: `change` may be asked again. Throws
     * `agent.definition-invalid`, `agent.read-only`, `agent.shared-file`, `agent.contended`; of files also `resource.*`.
     */
    update,

    /** Makes the agent of a definition, or puts the definition in the place of the one that it has. Throws what `create` and `update` throw. */
    async load(caller: AgentCaller, yaml: string, tell: TellProblem): Promise<AgentDetail> {
      const { name } = await checked(caller.tenantId, yaml, tell);
      const found = await lookUp(caller, name);
      return found === undefined ? create(caller, yaml, tell) : update(caller, name, () => yaml, tell);
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

function invalid(problems: readonly Pick<FieldError, 'pointer' | 'message'>[], tell: TellProblem) {
  return AgentAdminErrors.invalid(undefined, { errors: problems.map((problem) => tell({ ...problem })) });
}

/** What is shown of an agent whose file is bad: it is here to be mended. */
const broken = (name: string) => ({
  ...{ name, description: '', model: '', subAgents: [] },
  type: 'chat_model_agent' as const,
});
