import type { FieldError } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { NodeTypes } from '../ports/graphs.ts';

/** The graph that somebody sent. Throws `workflow.graph-invalid` with all that is wrong with it. */
export function requireValid(graph: unknown, types: NodeTypes): Graph {
  const problems = checkGraph(graph, types);
  if (problems.length === 0) return graph as Graph;
  const count = problems.length === 1 ? 'One rule is broken' : `${problems.length} rules are broken`;
  const detail = `${count}. Each of errors says where, and how to put it right.`;
  throw WorkflowErrors.graphInvalid(detail, { errors: toFieldErrors(problems) });
}

/** Problems as an error lists them: their pointers begin with `/graph`. */
export function toFieldErrors(problems: readonly GraphProblem[]): readonly FieldError[] {
  return problems.map((problem) => ({ ...problem, pointer: `/graph${problem.pointer}` }));
}
