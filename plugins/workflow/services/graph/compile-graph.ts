import type { Graph, GraphNode, JsonObject } from '../../contract/graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { createHumanFill, readTimeout } from './builtin-config.ts';
import type { CompiledEdge, CompiledGraph, CompiledNode } from './compiled-graph.ts';
import { compileCondition } from './conditions.ts';
import { createFill, type Fill, type TemplateModes } from './fill-config.ts';
import { linksOf, topologicalOrder } from './links.ts';
import { readRetry } from './retry-policy.ts';

/**
 * Makes a graph ready to be run. It must be one for which `checkGraph` once reported no problem: throws for a graph
 * without exactly one start, with ids or edges that do not fit, a cycle, or durations, retries and paths that cannot be
 * read. A missing type (its plugin is gone) is no problem here: the step fails when it is carried out. `types` is
 * queried whenever a configuration is filled in, so that a compiled graph may be kept while plugins come and go.
 */
export function compileGraph(graph: Graph, types: NodeTypes): CompiledGraph {
  const edges = graph.edges.map(compileEdge);
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const order = topologicalOrder(linksOf([...byId.keys()], graph.edges));
  const startId = verify(graph, byId);
  if (order === undefined) throw invalid('it has a cycle');
  const links = { incoming: indexesBy('to', edges), outgoing: indexesBy('from', edges) };
  const nodes = new Map(order.map((id, rank) => [id, compileNode(byId.get(id)!, rank, links, types)]));
  const outcomes = new Map([...nodes.values()].map((node) => [node.id, outcomesThatLeadOn(node, edges)]));
  return { graph, startId, nodes, edges, outcomesOf: (id) => outcomes.get(id) ?? [] };
}

/** The id of the start. */
function verify({ nodes, edges }: Graph, byId: ReadonlyMap<string, GraphNode>): string {
  const starts = nodes.filter(({ type }) => type === 'start');
  const [start] = starts;
  if (start === undefined || starts.length > 1) throw invalid(`it has ${starts.length} start nodes`);
  if (byId.size < nodes.length) throw invalid('two nodes have the same id');
  const isLoose = edges.some(({ from, to }) => !byId.has(from) || !byId.has(to) || from === to);
  if (isLoose) throw invalid('an edge does not lead from one node to another');
  return start.id;
}

function invalid(fault: string): Error {
  return new Error(`The graph cannot be run: ${fault}.`);
}

function compileEdge({ from, to, condition }: Graph['edges'][number], index: number): CompiledEdge {
  return { index, from, to, condition: condition === undefined ? undefined : compileCondition(condition) };
}

type IndexesByNode = ReadonlyMap<string, readonly number[]>;

function indexesBy(end: 'from' | 'to', edges: readonly CompiledEdge[]): IndexesByNode {
  const indexes = new Map<string, number[]>();
  for (const edge of edges) {
    const known = indexes.get(edge[end]);
    if (known === undefined) indexes.set(edge[end], [edge.index]);
    else known.push(edge.index);
  }
  return indexes;
}

function compileNode(
  { id, type, name, config = {} }: GraphNode,
  rank: number,
  { incoming, outgoing }: { readonly incoming: IndexesByNode; readonly outgoing: IndexesByNode },
  types: NodeTypes,
): CompiledNode {
  const { retry, ...rest } = config;
  const behavior = behaviorOf(type);
  const fills: Readonly<Record<CompiledNode['behavior'], () => Fill>> = {
    start: () => fillNothing,
    end: () => fillNothing,
    human: () => createHumanFill(rest),
    automatic: () => createTypedFill(rest, () => types.get(type)?.templates ?? NO_MODES),
  };
  return {
    id,
    type,
    rank,
    behavior,
    name: name || id,
    incoming: incoming.get(id) ?? [],
    outgoing: outgoing.get(id) ?? [],
    retry: behavior === 'automatic' && retry !== undefined ? readRetry(retry) : undefined,
    timeoutMs: behavior === 'human' ? readTimeout(rest) : undefined,
    fill: fills[behavior](),
  };
}

function behaviorOf(type: string): CompiledNode['behavior'] {
  if (type === 'start' || type === 'end') return type;
  return type === 'human_task' ? 'human' : 'automatic';
}

const NO_MODES: TemplateModes = {};
const fillNothing: Fill = () => ({ input: {}, missing: [] });

/**
 * Fills in with the current modes of the type: a URL that was compiled while its plugin was away must not be filled in
 * as plain text forever.
 */
function createTypedFill(config: JsonObject, modesNow: () => TemplateModes): Fill {
  let modes = modesNow();
  let fill = createFill(config, modes);
  return (data) => {
    const now = modesNow();
    if (now !== modes) {
      fill = createFill(config, now);
      modes = now;
    }
    return fill(data);
  };
}

function outcomesThatLeadOn(
  { behavior, outgoing, timeoutMs }: CompiledNode,
  edges: readonly CompiledEdge[],
): readonly string[] {
  if (behavior !== 'human') return [];
  const named = outgoing.flatMap((index) => {
    const condition = edges[index]?.condition;
    return condition?.kind === 'outcome' ? [condition.outcome] : [];
  });
  return [...new Set(named)].filter((outcome) => outcome !== 'timeout' || timeoutMs === undefined);
}
