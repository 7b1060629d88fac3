import Type from 'typebox';
import type {
  Graph,
  GraphEdge,
  GraphNode,
  JsonObject,
} from '../../../../../plugins/workflow/contract/graph.ts';
import type { NodeType } from '../../../../../plugins/workflow/contract/node-types.ts';
import {
  AgentTaskConfig,
  agentTaskTemplates,
  checkAgentTask,
  checkServiceTask,
  ServiceTaskConfig,
  serviceTaskTemplates,
} from '../../../../../plugins/workflow/services/graph/builtin-config.ts';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import type { RunData } from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';
import type { NodeTypes } from '../../../../../plugins/workflow/services/ports/execution.ts';

/** A node type that nobody carries out here. */
export function nodeType(type: Omit<NodeType, 'summary' | 'execute'>): NodeType {
  return { ...type, summary: 'For tests', execute: () => Promise.reject(new Error('It is not carried out')) };
}

/** A type of a plugin: `fetch` is a URL, `raw` is no template. */
export const COPY_TYPE = nodeType({
  type: 'files/copy',
  config: Type.Object(
    {
      fetch: Type.String(),
      raw: Type.Optional(Type.String()),
      size: Type.Optional(Type.Union([Type.Literal('all'), Type.Integer({ minimum: 1 })])),
      tags: Type.Optional(
        Type.Array(Type.String({ pattern: '^[a-z]+$', patternErrorMessage: 'must be lower case' })),
      ),
    },
    { additionalProperties: false },
  ),
  templates: { fetch: 'url', raw: 'none' },
  check: (config) =>
    config.raw === 'forbidden'
      ? [{ pointer: '/raw', message: 'is forbidden.', code: 'files.forbidden' }]
      : [],
});

/** The built-in types, and others. */
export function nodeTypes(...others: readonly NodeType[]): NodeTypes {
  const types = new Map(
    [
      nodeType({
        type: 'agent_task',
        config: AgentTaskConfig,
        templates: agentTaskTemplates,
        check: checkAgentTask,
      }),
      nodeType({
        type: 'service_task',
        config: ServiceTaskConfig,
        templates: serviceTaskTemplates,
        check: checkServiceTask,
      }),
      ...others,
    ].map((type) => [type.type, type]),
  );
  return { get: (type) => types.get(type), names: () => [...types.keys()] };
}

export const TYPES = nodeTypes(COPY_TYPE);

/** start → ask → call → approve → end, with nothing wrong. */
export const VALID = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'agent_task', config: { prompt: 'Sum up {{input.text}}' } },
    {
      id: 'call',
      type: 'service_task',
      config: { url: 'https://api.example.com/{{steps.ask.output.text}}' },
    },
    {
      id: 'approve',
      type: 'human_task',
      name: 'Approval',
      config: { assignee: 'role:admin', timeout: '72h' },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', to: 'call' },
    { from: 'call', to: 'approve' },
    { from: 'approve', to: 'end', condition: { outcome: 'yes' } },
    { from: 'approve', to: 'end' },
  ],
} as const satisfies Graph;

/** Any change of the valid graph. */
export function changed(change: (graph: LooseGraph) => void): LooseGraph {
  const graph = structuredClone(VALID) as unknown as LooseGraph;
  change(graph);
  return graph;
}

/** A graph that may be wrong. */
export interface LooseGraph {
  // biome-ignore lint/suspicious/noExplicitAny: anything may be in it
  nodes: any[];
  // biome-ignore lint/suspicious/noExplicitAny: anything may be in it
  edges: any[];
}

/** The graph start → x → end around one node. */
export function around(node: Omit<GraphNode, 'id'>, ...edges: readonly GraphEdge[]): Graph {
  return {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'x', ...node },
      { id: 'end', type: 'end' },
    ],
    edges: [{ from: 'start', to: 'x' }, { from: 'x', to: 'end' }, ...edges],
  };
}

/** Problems of a configuration, as `rule pointer`, and their messages. */
export function configProblems(type: string, config: JsonObject) {
  const problems = checkGraph(around({ type, config }), TYPES);
  return problems.map(({ code, pointer, message }) => ({
    problem: `${code.replace('workflow.graph.', '')} ${pointer.replace('/nodes/1/config', '')}`,
    message,
  }));
}

/** Data of a run. */
export function runData({
  input = {},
  variables = {},
  outputs = {},
}: {
  readonly input?: JsonObject;
  readonly variables?: JsonObject;
  readonly outputs?: Readonly<Record<string, JsonObject>>;
}): RunData {
  return {
    input,
    variables,
    output: (nodeId) => (Object.hasOwn(outputs, nodeId) ? outputs[nodeId] : undefined),
  };
}
