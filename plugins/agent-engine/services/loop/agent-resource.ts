import {
  defineKind,
  isJsonObject,
  type KindDefinition,
  type Resource,
  ResourceErrors,
  type ResourceProblem,
  type UnreadResource,
} from 'agent-gateway';
import type { AgentInfo, AgentSignal } from '../../contract.ts';
import { AgentKind, type AgentSpec, TOOL_REF_FORMS } from '../../kinds/agent.ts';
import { ModelKind } from '../../kinds/model.ts';
import { isToolRef, type ToolWish } from '../tools/tool-catalog.ts';

/** An agent that a supervisor hands work over to. */
export interface SubAgent {
  /** For the supervisor's model: what it is for. */
  readonly role: string;
  readonly agent: AgentDefinition;
}

/**
 * An agent with everything that it stands for, sub-agents included, as plain JSON: a run, and a checkpoint of it, keeps
 * the definition that it started with, even if the file changes.
 */
export interface AgentDefinition {
  /** Empty for the default agent. */
  readonly name: string;
  readonly description: string;
  readonly type: 'chat_model_agent' | 'supervisor';
  /** Alias; absent: `default`, or the supervisor's. */
  readonly model?: string;
  readonly systemPrompt?: string;
  /** Absent: every tool that the tenant may use. */
  readonly tools?: readonly ToolWish[];
  readonly subAgents: readonly SubAgent[];
  /** Calls of the model in one run at most. */
  readonly maxIterations?: number;
  /** Present where the agent learns from experience. */
  readonly evolution?: AgentEvolution;
}

/** How an agent learns. */
export interface AgentEvolution {
  /** Kinds of signal that are collected; empty: all. */
  readonly collect: readonly AgentSignal['type'][];
  /** The kind of all its tasks, unless a request names another. */
  readonly taskClass?: string;
  readonly minConfidence?: number;
  readonly maxSuggestions?: number;
}

/** The agent that answers when a request names none: no instructions of its own, all tools. */
export const DEFAULT_AGENT: AgentDefinition = Object.freeze({
  name: '',
  description: 'The model with every tool',
  type: 'chat_model_agent',
  subAgents: [],
});

/** The model that answers where neither caller nor agent names one. */
export const DEFAULT_MODEL = 'default';

/** How many agents a definition is made of, itself included. One that is reached in two ways counts twice. */
function countAgents({ subAgents }: AgentDefinition): number {
  return subAgents.reduce((sum, { agent }) => sum + countAgents(agent), 1);
}

/** Agents that one supervisor leads at most, directly and through others: each stands in every checkpoint. */
export const MAX_AGENTS = 32;

/**
 * The kind Agent of agents.d. A sub-agent is built before its supervisor, and the supervisor is rebuilt when a
 * sub-agent changes; cycles are refused. A model is looked up when it is called.
 */
export function agentKind(): KindDefinition<typeof AgentSpec, AgentDefinition> {
  return defineKind({
    ...AgentKind,
    references: ({ spec }) => [
      ...(spec.model === undefined
        ? []
        : // Aliases of the environment, and names that are passed through to a server, are no resources.
          [
            {
              kind: ModelKind.kind,
              name: spec.model.primary,
              pointer: '/spec/model/primary',
              lazy: true,
              optional: true,
            },
          ]),
      ...(spec.sub_agents ?? []).map(({ ref }, index) => ({
        kind: AgentKind.kind,
        name: ref,
        pointer: `/spec/sub_agents/${index}/ref`,
      })),
    ],
    checkUnread,
    build: (resource, context) => {
      const built = buildAgent(resource, (name) => context.resolve<AgentDefinition>(AgentKind.kind, name)!);
      if ('definition' in built) return built.definition;
      throw ResourceErrors.invalid(undefined, { errors: [{ ...built.problem }] });
    },
  });
}

function checkUnread({ spec, metadata }: UnreadResource): readonly ResourceProblem[] {
  const { type, tools, sub_agents: subAgents } = spec;
  const problems: ResourceProblem[] = [];
  const report = (pointer: string, message: string) => void problems.push({ pointer, message });
  const toolsBefore = new Set<string>();
  for (const [pointer, ref] of refsIn(tools, '/spec/tools')) {
    if (!isToolRef(ref)) report(pointer, `is no name of a tool; write ${TOOL_REF_FORMS}`);
    else if (toolsBefore.has(ref)) report(pointer, 'is named twice');
    toolsBefore.add(ref);
  }
  if (
    type === 'supervisor' &&
    (subAgents === undefined || (Array.isArray(subAgents) && subAgents.length === 0))
  )
    report(
      subAgents === undefined ? '/spec' : '/spec/sub_agents',
      'a supervisor needs at least one sub-agent',
    );
  if (type === 'chat_model_agent' && subAgents !== undefined)
    report('/spec/sub_agents', 'is for the type supervisor alone');
  const agentsBefore = new Set<string>();
  for (const [pointer, ref] of refsIn(subAgents, '/spec/sub_agents')) {
    if (ref === metadata.name) report(pointer, 'is this agent itself');
    else if (agentsBefore.has(ref)) report(pointer, 'is named twice');
    agentsBefore.add(ref);
  }
  return problems;
}

/** The references of a list that may be anything, with their places. */
function refsIn(list: unknown, at: string): readonly (readonly [pointer: string, ref: string])[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry, index) =>
    isJsonObject(entry) && typeof entry.ref === 'string' ? [[`${at}/${index}/ref`, entry.ref] as const] : [],
  );
}

/** Makes the definition of a checked resource; `resolve` gives the agents that it names. Pure. */
export function buildAgent(
  { metadata, spec }: Pick<Resource<AgentSpec>, 'metadata' | 'spec'>,
  resolve: (name: string) => AgentDefinition,
): { readonly definition: AgentDefinition } | { readonly problem: ResourceProblem } {
  const subAgents = (spec.sub_agents ?? []).map(({ ref, role }) => {
    const agent = resolve(ref);
    return { role: role ?? agent.description, agent };
  });
  const definition: AgentDefinition = {
    name: metadata.name,
    description: metadata.description ?? '',
    type: spec.type,
    ...(spec.model === undefined ? {} : { model: spec.model.primary }),
    ...(spec.system_prompt === undefined ? {} : { systemPrompt: spec.system_prompt }),
    tools: (spec.tools ?? []).map(({ ref, requires_approval = false }) => ({
      ref,
      requiresApproval: requires_approval,
    })),
    subAgents,
    ...(spec.max_iterations === undefined ? {} : { maxIterations: spec.max_iterations }),
    ...(spec.evolution?.enabled === true ? { evolution: evolutionOf(spec.evolution) } : {}),
  };
  const count = countAgents(definition);
  if (count > MAX_AGENTS) {
    const message = `leads to ${count - 1} agents in all; ${MAX_AGENTS - 1} are the most`;
    return { problem: { pointer: '/spec/sub_agents', message } };
  }
  return { definition };
}

function evolutionOf(spec: NonNullable<AgentSpec['evolution']>): AgentEvolution {
  const { collect = [], advise = {}, task_class: taskClass } = spec;
  const { min_confidence: minConfidence, max_suggestions: maxSuggestions } = advise;
  return {
    collect,
    ...(taskClass === undefined ? {} : { taskClass }),
    ...(minConfidence === undefined ? {} : { minConfidence }),
    ...(maxSuggestions === undefined ? {} : { maxSuggestions }),
  };
}

/** What lists show of a definition. */
export function infoOf(definition: AgentDefinition, source: AgentInfo['source']): AgentInfo {
  const { name, description, type, model = DEFAULT_MODEL, subAgents } = definition;
  return { name, description, type, model, source, subAgents: subAgents.map(({ agent }) => agent.name) };
}
