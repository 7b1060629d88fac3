import {
  nearestName,
  type ResourceLease,
  type Resources,
  type ResourceView,
  redactText,
} from 'agent-gateway';
import {
  type AgentCheck,
  AgentErrors,
  type AgentInfo,
  type Agents,
  ModelErrors,
  type Models,
  type TenantAgent,
  type TenantAgents,
} from '../../contract.ts';
import type { AgentSpec } from '../../kinds/agent.ts';
import { AgentKind } from '../../kinds/agent.ts';
import type { ToolCatalog } from '../tools/tool-catalog.ts';
import { type AgentDefinition, buildAgent, DEFAULT_AGENT, infoOf } from './agent-resource.ts';

/** What agents are looked up in. */
interface AgentCatalogParts {
  /** The live resources of the kind Agent. */
  readonly files: ResourceView<AgentDefinition>;
  /** Where the agents of tenants are. */
  readonly sources: () => readonly TenantAgents[];
  readonly resources: Pick<Resources, 'read'>;
  readonly toolCatalog: Pick<ToolCatalog, 'unknown'>;
  readonly models: Models;
}

/** Agents by tenant and name: those of the deployment, which come first, and the tenant's own. */
export type AgentCatalog = ReturnType<typeof createAgentCatalog>;

type Reading = ReturnType<Resources['read']>;
type Errors = Reading['errors'];

/** A definition that cannot be built. */
class Unbuildable extends Error {
  readonly errors: Errors;
  constructor(errors: Errors) {
    super(errors[0]?.message ?? 'is not valid');
    this.errors = errors;
  }
}

/** Makes the catalog. A parsed definition is cached as long as the source keeps its object. */
export function createAgentCatalog({ files, sources, resources, toolCatalog, models }: AgentCatalogParts) {
  const readings = new WeakMap<object, Reading>();

  /** Asks one source after the other: of two agents of one name that of the earlier source counts. */
  async function findOwn(tenantId: string, name: string): Promise<TenantAgent | undefined> {
    for (const source of sources()) {
      const found = await source.find(tenantId, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What `findOwn` finds. */
  async function listOwn(tenantId: string): Promise<readonly AgentInfo[]> {
    const lists = await Promise.all(sources().map((source) => source.list(tenantId)));
    const byName = new Map<string, AgentInfo>();
    for (const agent of lists.flat()) if (!byName.has(agent.name)) byName.set(agent.name, agent);
    return [...byName.values()];
  }

  function read(agent: Pick<TenantAgent, 'yaml'>): Reading {
    const known = readings.get(agent);
    if (known !== undefined) return known;
    const reading = resources.read(AgentKind.kind, agent.yaml);
    readings.set(agent, reading);
    return reading;
  }

  /**
   * Builds an agent of a tenant with those that it leads, each once. Throws `Unbuildable`.
   *
   * @param seen what was built so far; undefined for an agent that is still being built: to meet it again is a cycle
   */
  async function define(
    tenantId: string,
    text: Pick<TenantAgent, 'yaml'>,
    seen = new Map<string, AgentDefinition | Unbuildable | undefined>(),
  ): Promise<AgentDefinition> {
    const { resource, errors, locate } = read(text);
    if (resource === undefined) throw new Unbuildable(errors);
    const { spec, metadata } = resource as typeof resource & { readonly spec: AgentSpec };
    seen.set(metadata.name, undefined);
    const problems: { pointer: string; message: string }[] = [];
    const built = new Map<string, AgentDefinition>();
    for (const [index, { ref }] of (spec.sub_agents ?? []).entries()) {
      const found = files.get(ref) ?? (await subAgent(tenantId, ref, seen));
      const pointer = `/spec/sub_agents/${index}/ref`;
      if (typeof found === 'string') problems.push({ pointer, message: found });
      else built.set(ref, found);
    }
    if (problems.length > 0) throw new Unbuildable(locate(problems));
    const outcome = buildAgent({ metadata, spec }, (name) => built.get(name)!);
    if ('problem' in outcome) throw new Unbuildable(locate([outcome.problem]));
    return outcome.definition;
  }

  /** The definition of a sub-agent, or the reason why it cannot be named. */
  async function subAgent(
    tenantId: string,
    name: string,
    seen: Map<string, AgentDefinition | Unbuildable | undefined>,
  ): Promise<AgentDefinition | string> {
    if (!seen.has(name)) {
      const own = await findOwn(tenantId, name);
      if (own === undefined) return `there is no Agent with the name ${name}`;
      try {
        seen.set(name, await define(tenantId, own, seen));
      } catch (error) {
        if (!(error instanceof Unbuildable)) throw error;
        seen.set(name, error);
      }
    }
    const found = seen.get(name);
    if (found === undefined) return `closes a circle through the Agent ${name}`;
    return found instanceof Unbuildable
      ? `names the Agent ${name}, which is not usable: ${found.message}`
      : found;
  }

  /** What of a sound definition nobody offers now: mostly a name that is misspelled. */
  async function warningsOf(tenantId: string, text: Pick<TenantAgent, 'yaml'>): Promise<Errors> {
    const { resource, locate } = read(text);
    const { tools = [], model } = resource!.spec as AgentSpec;
    const refs = tools.map(({ ref }) => ref);
    const { missing, known } = await toolCatalog.unknown(tenantId, refs);
    const warnings = missing.map((ref) => ({
      pointer: `/spec/tools/${refs.indexOf(ref)}/ref`,
      message: `there is no tool ${ref} now, so runs leave it out${suggestion(ref, known)}`,
    }));
    const message = withoutModel(model?.primary);
    if (message !== undefined) warnings.push({ pointer: '/spec/model/primary', message });
    return locate(warnings);
  }

  /** Why an agent with this model cannot run now; undefined for one that can. */
  function withoutModel(alias: string | undefined): string | undefined {
    if (alias === undefined || isThere(models, alias)) return undefined;
    const aliases = models.list().map(({ id }) => id);
    return `there is no model ${alias} now, so runs fail${suggestion(alias, aliases)}`;
  }

  return {
    /** Holds the definition that a run starts with. Throws `agent.not-found` and `agent.not-usable`. */
    async acquire(
      tenantId: string,
      name: string | undefined,
    ): Promise<Pick<ResourceLease<AgentDefinition>, 'value' | typeof Symbol.dispose>> {
      if (name === undefined) return { value: DEFAULT_AGENT, [Symbol.dispose]: () => {} };
      const lease = files.acquire(name);
      if (lease !== undefined) return lease;
      const own = await findOwn(tenantId, name);
      const shown = name.slice(0, 100).toWellFormed();
      if (own === undefined) throw AgentErrors.notFound(`There is no agent "${shown}".`, { param: 'agent' });
      try {
        return { value: await define(tenantId, own), [Symbol.dispose]: () => {} };
      } catch (error) {
        if (!(error instanceof Unbuildable)) throw error;
        const [{ line, pointer } = { line: 1, pointer: '' }] = error.errors;
        const place = redactText(`line ${line}, ${pointer}: ${error.message}`);
        throw AgentErrors.notUsable(`The agent "${shown}" cannot run: ${place}.`);
      }
    },

    /** What agents of files name that is not there, one line each. It may come. */
    doubts(): readonly string[] {
      return files.list().flatMap(({ value: { name, model } }) => {
        const message = withoutModel(model);
        return message === undefined ? [] : `Agent ${name}: ${message}`;
      });
    },

    async find(tenantId: string, name: string): Promise<AgentInfo | undefined> {
      const file = files.get(name);
      return file === undefined ? findOwn(tenantId, name) : infoOf(file, 'file');
    },

    async list(tenantId: string): Promise<readonly AgentInfo[]> {
      const own = await listOwn(tenantId);
      return [
        ...files.list().map(({ value }) => infoOf(value, 'file')),
        ...own.filter(({ name }) => files.get(name) === undefined),
      ];
    },

    async check(tenantId: string, yaml: string): Promise<AgentCheck> {
      try {
        const text = { yaml };
        const definition = await define(tenantId, text);
        const warnings = await warningsOf(tenantId, text);
        return { agent: infoOf(definition, 'tenant'), errors: [], warnings };
      } catch (error) {
        if (error instanceof Unbuildable) return { errors: error.errors, warnings: [] };
        throw error;
      }
    },
  } satisfies Pick<Agents, 'find' | 'list' | 'check'> & { acquire: unknown; doubts: unknown };
}

/** Does the model answer? It may be one that is passed through to a server, and in no list. */
function isThere(models: Models, alias: string): boolean {
  try {
    return models.resolve(alias) !== undefined;
  } catch (error) {
    if (ModelErrors.notFound.is(error)) return false;
    throw error;
  }
}

function suggestion(wrong: string, known: readonly string[]): string {
  const meant = nearestName(wrong, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}
