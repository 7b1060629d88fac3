import type { Graph } from '../../contract/graph.ts';
import { maskConfig, type Redactor, redactJson } from '../views/redaction.ts';

/**
 * The graph for somebody who may not write it: credentials in its texts are redacted, and the values of headers like `Authorization` masked,
 * whatever they look like. Everything else is as it was written.
 */
export function redactGraph(redactor: Redactor, graph: Graph): Graph {
  const nodes = graph.nodes.map((node) =>
    node.config === undefined ? node : { ...node, config: maskConfig(node.config) },
  );
  // A graph is plain JSON, which its interface does not say of itself.
  const masked = { ...graph, nodes } as unknown as Parameters<typeof redactJson>[1];
  return redactJson(redactor, masked) as unknown as Graph;
}
