import type {
  Condition,
  Graph,
  GraphNode,
  JsonObject,
} from '../../../../../plugins/workflow/contract/graph.ts';
import type {
  CompiledEdge,
  CompiledGraph,
  CompiledNode,
  Filled,
  RetryPolicy,
  RunData,
} from '../../../../../plugins/workflow/services/graph/compiled-graph.ts';

/** A node of a test. */
export interface NodeSketch {
  readonly behavior: CompiledNode['behavior'];
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  /** Default: the node's id as input, `assignee` for a human task. */
  readonly fill?: (data: RunData) => Filled;
}

/** `[from, to]`, with an outcome, or with a comparison that is a function. */
export type EdgeSketch = readonly [
  from: string,
  to: string,
  condition?: string | ((data: RunData) => boolean),
];

export const start: NodeSketch = { behavior: 'start' };
export const end: NodeSketch = { behavior: 'end' };

/** An automatic node. */
export function auto(options: Omit<NodeSketch, 'behavior' | 'timeoutMs'> = {}): NodeSketch {
  return { behavior: 'automatic', ...options };
}

/** A human task. */
export function human(options: Omit<NodeSketch, 'behavior' | 'retry'> = {}): NodeSketch {
  return { behavior: 'human', ...options };
}

const TYPES = { start: 'start', end: 'end', human: 'human_task', automatic: 'service_task' } as const;

/**
 * A compiled graph without the compiler, so that the rules are tested by themselves. Throws for cycles and unknown
 * nodes; nothing else is checked. A condition that is a function stands in the definition as a comparison of
 * `variables.test`.
 */
export function buildGraph(
  sketches: Readonly<Record<string, NodeSketch>>,
  edgeSketches: readonly EdgeSketch[],
): CompiledGraph {
  const edges = edgeSketches.map((sketch, index) => compiledEdge(sketch, index));
  const incoming = Object.groupBy(edges, ({ to }) => to);
  const outgoing = Object.groupBy(edges, ({ from }) => from);
  const nodes = Object.entries(sketches).map(([id, sketch]): CompiledNode => {
    const input: JsonObject = sketch.behavior === 'human' ? { assignee: '' } : { node: id };
    return {
      id,
      name: `Node ${id}`,
      type: TYPES[sketch.behavior],
      rank: 0,
      behavior: sketch.behavior,
      incoming: (incoming[id] ?? []).map(({ index }) => index),
      outgoing: (outgoing[id] ?? []).map(({ index }) => index),
      retry: sketch.retry,
      timeoutMs: sketch.timeoutMs,
      fill: sketch.fill ?? (() => ({ input, missing: [] })),
    };
  });
  const sorted = topological(nodes, edges);
  const graph: Graph = {
    nodes: nodes.map(({ id, type }): GraphNode => ({ id, type })),
    edges: edgeSketches.map(([from, to, condition]) => ({ from, to, ...definitionOf(condition) })),
  };
  return {
    graph,
    startId: nodes.find(({ behavior }) => behavior === 'start')!.id,
    nodes: new Map(sorted.map((node, rank) => [node.id, { ...node, rank }])),
    edges,
    outcomesOf(nodeId) {
      const hasTimeout = sketches[nodeId]!.timeoutMs !== undefined;
      const outcomes = edges.flatMap(({ from, condition }) =>
        from === nodeId && condition?.kind === 'outcome' ? [condition.outcome] : [],
      );
      return [...new Set(outcomes)].filter((outcome) => !hasTimeout || outcome !== 'timeout');
    },
  };
}

/** `start`, automatic nodes `n1` to `n<length>` one after the other, and `end`. */
export function chain(length: number, node: NodeSketch = auto()): CompiledGraph {
  const ids = Array.from({ length }, (_, index) => `n${index + 1}`);
  const all = ['start', ...ids, 'end'];
  return buildGraph(
    { start, ...Object.fromEntries(ids.map((id) => [id, node])), end },
    all.slice(1).map((id, index): EdgeSketch => [all[index]!, id]),
  );
}

/** `start`, then the nodes side by side, then `end`. */
export function fork(ids: readonly string[], node: NodeSketch = auto()): CompiledGraph {
  return buildGraph({ start, ...Object.fromEntries(ids.map((id) => [id, node])), end }, [
    ...ids.map((id): EdgeSketch => ['start', id]),
    ...ids.map((id): EdgeSketch => [id, 'end']),
  ]);
}

function compiledEdge([from, to, condition]: EdgeSketch, index: number): CompiledEdge {
  if (condition === undefined) return { index, from, to, condition };
  const compiled =
    typeof condition === 'string'
      ? ({ kind: 'outcome', outcome: condition } as const)
      : ({ kind: 'field', matches: condition } as const);
  return { index, from, to, condition: compiled };
}

function definitionOf(condition: EdgeSketch[2]): { condition?: Condition } {
  if (condition === undefined) return {};
  if (typeof condition === 'string') return { condition: { outcome: condition } };
  return { condition: { field: 'variables.test', op: 'eq', value: true } };
}

/** Ties go by the order of the nodes, so that tests can say in which order things happen. */
function topological(
  nodes: readonly CompiledNode[],
  edges: readonly CompiledEdge[],
): readonly CompiledNode[] {
  const sorted = new Map<string, CompiledNode>();
  for (let before = -1; sorted.size > before; ) {
    before = sorted.size;
    for (const node of nodes) {
      const isNext = node.incoming.every((index) => sorted.has(edges[index]!.from));
      if (isNext && !sorted.has(node.id)) sorted.set(node.id, node);
    }
  }
  if (sorted.size < nodes.length) throw new Error('The graph has a cycle, or an edge from nowhere.');
  return [...sorted.values()];
}
