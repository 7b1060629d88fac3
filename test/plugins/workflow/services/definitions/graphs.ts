import Type from 'typebox';
import type { Graph, JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { type NodeType, StepFailure } from '../../../../../plugins/workflow/contract/node-types.ts';
import {
  AgentTaskConfig,
  agentTaskTemplates,
  checkAgentTask,
  checkServiceTask,
  ServiceTaskConfig,
  serviceTaskTemplates,
} from '../../../../../plugins/workflow/services/graph/builtin-config.ts';
import type { NodeTypes } from '../../../../../plugins/workflow/services/ports/execution.ts';

const execute = () => Promise.reject(new StepFailure('none', 'Nothing is carried out in these tests.'));

const builtin: readonly NodeType[] = [
  {
    type: 'agent_task',
    summary: 'An agent',
    config: AgentTaskConfig,
    templates: agentTaskTemplates,
    check: checkAgentTask,
    execute,
  },
  {
    type: 'service_task',
    summary: 'A request',
    config: ServiceTaskConfig,
    templates: serviceTaskTemplates,
    check: checkServiceTask,
    execute,
  },
];

/** A type as a plugin brings it, which wants a `text`. */
export function pluginType(type = 'acme/translate'): NodeType {
  return {
    type,
    summary: 'Translates',
    config: Type.Object({ text: Type.String() }, { additionalProperties: false }),
    execute,
  };
}

/** The built-in types, and those that a test adds and takes away. */
export function testTypes(): NodeTypes & { readonly plugins: NodeType[] } {
  const plugins: NodeType[] = [];
  const all = () => [...builtin, ...plugins];
  return {
    plugins,
    get: (name) => all().find(({ type }) => type === name),
    names: () => all().map(({ type }) => type),
  };
}

/** A valid graph: start, one node, end. */
export function graphOf(type: string, config: JsonObject): Graph {
  return {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'work', type, config },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { from: 'start', to: 'work' },
      { from: 'work', to: 'end' },
    ],
  };
}

/** A valid graph whose agent is asked this. */
export function asking(prompt: string): Graph {
  return graphOf('agent_task', { prompt });
}

/** Two nodes, two problems: there is no end, and the start leads nowhere. */
export const BROKEN: Graph = { nodes: [{ id: 'start', type: 'start' }], edges: [] };
