/** Bounds of a graph. What is beyond them is refused when a definition is created, changed or published. */
export const GRAPH_LIMITS = {
  nodes: 500,
  edges: 2_000,
  /** Edges that compare something and leave the same node: all of them are asked when it completes. */
  comparisons: 100,
  /** Characters of a node's `name`. */
  name: 200,
  /** Characters of an outcome. */
  outcome: 64,
  /** Bytes of a node's `config`, as JSON in UTF-8. */
  configBytes: 64 * 1024,
  /** Levels of a node's `config`, and of the value of a condition. */
  jsonDepth: 64,
  /** Bytes of the value that a condition compares with, as JSON in UTF-8. */
  valueBytes: 16 * 1024,
  /** Names of a path, all of them counted: `steps.a.output.b` has four. */
  pathDepth: 32,
  /** Characters of a path. */
  pathLength: 1_024,
  /** Milliseconds of a human task's `timeout` and of a delay: ten years. */
  duration: 3_650 * 86_400_000,
  /** Attempts in all of a node that has a `retry` (decisions 2.6). */
  attempts: 10,
  /** Problems that are told at one time. */
  problems: 1_000,
} as const;

/**
 * Characters of all that templates insert into the configuration of one node, as JSON. A configuration that names a large output many times would
 * otherwise grow without end.
 */
export const MAX_INSERTED = 2 * 1024 * 1024;
