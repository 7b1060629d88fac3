import type { FieldError, GatewayError } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { checkGraph } from '../graph/check-graph.ts';
import { graphCode } from '../graph/graph-rules.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { NodeTypes } from '../ports/execution.ts';

/** Where a graph was found, which the pointers of its errors begin with: in a body that was sent, or in what is stored. */
export type GraphPlace = '/body/graph' | '/graph';

/** The graph that somebody made. Throws `workflow.graph-invalid` with all that is wrong with it. */
export function requireValid(graph: unknown, types: NodeTypes, place: GraphPlace): Graph {
  const problems = checkGraph(graph, types);
  if (problems.length === 0) return graph as Graph;
  throw graphInvalid(toFieldErrors(problems, place));
}

/** Problems as an error lists them. */
export function toFieldErrors(
  problems: readonly GraphProblem[],
  place: GraphPlace = '/graph',
): readonly FieldError[] {
  return problems.map((problem) => ({ ...problem, pointer: `${place}${problem.pointer}` }));
}

/**
 * `workflow.graph-invalid`.
 *
 * @param broken what is wrong with the graph, at least one error
 * @param others what is wrong with the request besides; told first
 */
export function graphInvalid(
  broken: readonly FieldError[],
  others: readonly FieldError[] = [],
): GatewayError {
  const besides = others.length === 0 ? '' : ', and the request has other faults';
  const detail = `${countOf(broken)}${besides}. Each of errors says where, and how to put it right.`;
  return WorkflowErrors.graphInvalid(detail, { errors: [...others, ...broken] });
}

function countOf(broken: readonly FieldError[]): string {
  if (broken.length === 1) return 'One rule is broken';
  // The last one says that there are more.
  const isCut = broken.at(-1)?.code === graphCode('more-problems');
  return isCut
    ? `More than ${GRAPH_LIMITS.problems.toLocaleString('en')} rules are broken`
    : `${broken.length} rules are broken`;
}
