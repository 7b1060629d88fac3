import type { ToolDefinition } from '../../contract.ts';
import { type OfferedTool, type ToolCatalog, uniqueNames } from '../tools/tool-catalog.ts';
import type { SubAgent } from './agent-resource.ts';
import type { Frame, Turn } from './frame.ts';

/** What an agent may call in a run. */
export type Toolbox = Awaited<ReturnType<typeof openToolbox>>;

/** Arguments of `delegate_to_<name>`. */
export const DELEGATION = {
  type: 'object',
  properties: {
    task: { type: 'string', minLength: 1, description: 'What to do, with all that has to be known for it' },
  },
  required: ['task'],
  additionalProperties: false,
} as const;

/**
 * Collects what a frame's agent may call: the caller's tools, which win, its sub-agents, and the tools of the catalog.
 * Tools of the YAML that are not there now are logged and left out.
 */
export async function openToolbox(catalog: ToolCatalog, turn: Turn, frame: Frame) {
  const { agent, request } = frame;
  const { principal, signal, log } = turn.context;
  const clientTools = new Map((request.clientTools ?? []).map((tool) => [tool.function.name, tool]));
  const delegates = new Map(
    uniqueNames(
      agent.subAgents.map((sub) => `delegate_to_${sub.agent.name}`),
      clientTools.keys(),
    ).map((name, index) => [name, agent.subAgents[index]!]),
  );
  const offer = await catalog.offer({
    tenantId: principal.tenantId,
    signal,
    wishes: agent.tools,
    taken: delegates.keys(),
    others: clientTools.size + delegates.size,
  });
  if (offer.missing.length > 0)
    log.warn({ agent: agent.name, tools: offer.missing }, 'tools of the agent are not there');
  const tools = offer.tools.filter(({ name }) => !clientTools.has(name));
  const byName = new Map(tools.map((offered) => [offered.name, offered]));
  const byRef = new Map(tools.map((offered) => [offered.tool.ref, offered]));
  const delegations = [...delegates].map(([name, { agent: to, role }]) => {
    const description = `Hands a task over to the agent ${to.name}, and returns its answer. ${role}`.trim();
    return define(name, description, DELEGATION);
  });
  return {
    /** For the model. */
    definitions: [
      ...clientTools.values(),
      ...delegations,
      ...tools.map(({ name, tool }) => define(name, tool.description, tool.parameters)),
    ],
    isClientTool: (name: string) => clientTools.has(name),
    /** The sub-agent behind `delegate_to_<name>`. */
    subAgent: (name: string): SubAgent | undefined => delegates.get(name),
    tool: (name: string): OfferedTool | undefined => byName.get(name),
    toolByRef: (ref: string): OfferedTool | undefined => byRef.get(ref),
    /** For the model, when it calls a tool that does not exist. */
    names: [...delegates.keys(), ...byName.keys()],
    /** What may be called, by ref, without the caller's own tools. */
    refs: () => [
      ...[...delegates].map(([name, { agent: to }]) => ({ ref: `agent/${to.name}`, name })),
      ...tools.map(({ name, tool }) => ({ ref: tool.ref, name })),
    ],
    /** Refs of the agent's YAML that stand for no tool now. */
    missing: offer.missing,
  };
}

function define(
  name: string,
  description: string,
  parameters: Readonly<Record<string, unknown>>,
): ToolDefinition {
  return { type: 'function', function: { name, description, parameters } };
}
