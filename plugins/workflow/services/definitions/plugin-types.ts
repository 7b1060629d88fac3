import Type from 'typebox';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { type NodeType, StepFailure } from '../../contract/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';

const PLUGIN_TYPE = /^[a-z0-9][a-z0-9_-]{0,63}\/[a-z0-9][a-z0-9_-]{0,63}$/;

/** True for the name of a node type that a plugin may bring: `<plugin>/<type>`. The built-in ones have no slash. */
export function isPluginType(type: string): boolean {
  return PLUGIN_TYPE.test(type);
}

/** The built-in types of `types`, and those that plugins may bring for the nodes of a graph, there or not, with any configuration. */
export function withPluginTypesOf(graph: Graph, types: NodeTypes): NodeTypes {
  const isBuiltin = (type: string) => !isPluginType(type);
  const named = new Set(graph.nodes.map(({ type }) => type).filter(isPluginType));
  return {
    get: (type) => (named.has(type) ? anyType(type) : isBuiltin(type) ? types.get(type) : undefined),
    names: () => [...types.names().filter(isBuiltin), ...named],
  };
}

/** True for a problem with the type or the configuration of a node whose type is one of `those`. */
export function concernsType(
  graph: Graph,
  { pointer }: GraphProblem,
  those: (type: string) => boolean,
): boolean {
  const [, index] = /^\/nodes\/(\d+)\/(?:type$|config(?:\/|$))/.exec(pointer) ?? [];
  const node = index === undefined ? undefined : graph.nodes[Number(index)];
  return node !== undefined && those(node.type);
}

function anyType(type: string): NodeType {
  return {
    type,
    summary: 'A type of a plugin that may come later',
    config: Type.Object({}, { additionalProperties: true }),
    execute: () => Promise.reject(new StepFailure('unknown_type', `No plugin brings the type ${type}`)),
  };
}
