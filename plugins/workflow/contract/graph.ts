/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [name: string]: Json;
}

/** A fixed procedure: what is done, and what comes after what (specification 2, Resources and their fields). */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** One thing that is done. */
export interface GraphNode {
  /** Unique in the graph, `[A-Za-z0-9_-]{1,64}`: templates and conditions name it between dots. */
  readonly id: string;
  /** `start`, `end`, `agent_task`, `service_task`, `human_task`, or a type that a plugin adds (`<plugin>/<type>`). */
  readonly type: string;
  /** For people; default: the id. */
  readonly name?: string;
  /** What the type needs to know. */
  readonly config?: JsonObject;
}

/** What comes after a node. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Without one the edge is taken when no conditional edge of the same node is. */
  readonly condition?: Condition;
}

/** When an edge is taken: by the outcome that a person chose, or by a comparison on the run's data. */
export type Condition = OutcomeCondition | FieldCondition;

/** Holds when the person who completed the node's task chose this outcome. */
export interface OutcomeCondition {
  readonly outcome: string;
}

/**
 * Holds when a field of the run's data compares with `value` as `op` says. Nothing is coerced. For a missing field only
 * `ne` and `exists: false` hold.
 */
export interface FieldCondition {
  /** `input.<field>`, `variables.<key>` or `steps.<nodeId>.output.<field>`, nested further by dots. */
  readonly field: string;
  readonly op: Operator;
  /** What to compare with; true or false for `exists`. */
  readonly value?: Json;
}

/** How a field is compared (specification 2, Edge). */
export const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'exists',
  'contains',
  'startsWith',
  'endsWith',
] as const;

/** One of them. */
export type Operator = (typeof OPERATORS)[number];

/** One thing that is wrong with a graph. */
export interface GraphProblem {
  /** Stable name of the rule: `workflow.graph.cycle`. */
  readonly code: string;
  /** What is wrong, where, and how to put it right. */
  readonly message: string;
  /** RFC 6901 pointer into the graph: `/nodes/2/config/url`. */
  readonly pointer: string;
  /** Id of the node that it is about. */
  readonly node?: string;
  /** Index of the edge that it is about. */
  readonly edge?: number;
}
