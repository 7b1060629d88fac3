import type { Graph, JsonObject } from '../../contract/graph.ts';

/** The data that conditions and templates refer to. */
export interface RunData {
  readonly input: JsonObject;
  readonly variables: JsonObject;
  /** By node; only completed steps have an output. */
  output(nodeId: string): JsonObject | undefined;
}

/** A configuration with its templates filled in. */
export interface Filled {
  readonly input: JsonObject;
  /** References that led nowhere, as written, each once. */
  readonly missing: readonly string[];
  /** Why it could not be filled in: the step fails with it, and `input` must not be used. */
  readonly failure?: { readonly code: string; readonly message: string };
}

/** How often a failed step is retried automatically (decisions 2.6). */
export interface RetryPolicy {
  /** Attempts in all, 1 to 10. */
  readonly maxAttempts: number;
  readonly delayMs: number;
  readonly backoff: 'fixed' | 'exponential';
  readonly maxDelayMs: number;
}

export interface CompiledNode {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Its place in topological order: greater than that of all that lead to it. */
  readonly rank: number;
  /** `start` and `end` complete by themselves, `human` waits, `automatic` is carried out by a worker. */
  readonly behavior: 'start' | 'end' | 'human' | 'automatic';
  /** Indexes of edges, ascending. */
  readonly incoming: readonly number[];
  readonly outgoing: readonly number[];
  readonly retry: RetryPolicy | undefined;
  /** Of a human task. */
  readonly timeoutMs: number | undefined;
  fill(data: RunData): Filled;
}

export interface CompiledEdge {
  readonly index: number;
  readonly from: string;
  readonly to: string;
  /** `undefined`: an edge without condition. */
  readonly condition:
    | { readonly kind: 'outcome'; readonly outcome: string }
    | { readonly kind: 'field'; matches(data: RunData): boolean }
    | undefined;
}

/** A valid graph, ready to be run. Immutable; computed once a version. */
export interface CompiledGraph {
  readonly graph: Graph;
  readonly startId: string;
  /** In topological order: a node comes after all that lead to it. */
  readonly nodes: ReadonlyMap<string, CompiledNode>;
  readonly edges: readonly CompiledEdge[];
  /**
   * Outcomes that edges of a human task name, without `timeout` where the task has a timeout; in the order of the
   * edges.
   */
  outcomesOf(nodeId: string): readonly string[];
}

/**
 * The outgoing edges that a completed node takes, by index, ascending (specification 2, Routing rules; decisions
 * 2.1.1): all conditional edges that match; when none does, all edges without condition. Empty where the node leads
 * nowhere. Called once, when the node completes: the result is stored with the step.
 */
export function chooseEdges(
  graph: CompiledGraph,
  node: CompiledNode,
  outcome: string | null,
  data: RunData,
): readonly number[] {
  const matching: number[] = [];
  const defaults: number[] = [];
  for (const index of node.outgoing) {
    const { condition } = graph.edges[index]!;
    if (condition === undefined) defaults.push(index);
    else if (condition.kind === 'outcome' ? condition.outcome === outcome : condition.matches(data)) {
      matching.push(index);
    }
  }
  return matching.length > 0 ? matching : defaults;
}
