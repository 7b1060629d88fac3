import type { GraphProblem } from '../../contract/graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { checkEdges } from './check-edges.ts';
import { checkNodes } from './check-nodes.ts';
import { checkStructure } from './check-structure.ts';
import { readGraph } from './drawn-graph.ts';
import { createProblems } from './graph-problems.ts';
import { FIXED_TYPES, indexNodes } from './node-index.ts';
import { createSuggest } from './suggest.ts';

/**
 * Tells everything that is wrong with a graph at once (specification 2, Graph validation rules; decisions 2.4): problems of the shape first, then of
 * nodes, of edges, and of how they hang together. Empty: it is a `Graph` that `compileGraph` takes. Pure; time grows with the size of the graph, and
 * nothing that somebody writes into one makes it throw. Throws only when a node type's schema or `check` does.
 */
export function checkGraph(graph: unknown, types: NodeTypes): readonly GraphProblem[] {
  const reading = { problems: createProblems(), suggest: createSuggest() };
  const drawn = readGraph(graph, reading);
  if (drawn !== undefined) {
    const check = { ...reading, index: indexNodes(drawn, new Set([...FIXED_TYPES, ...types.names()])) };
    checkNodes(drawn, types, check);
    checkEdges(drawn, check);
    checkStructure(drawn, check);
  }
  return reading.problems.list();
}
