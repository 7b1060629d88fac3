import type { FieldError, GatewayError } from 'agent-gateway';
import { WorkflowErrors } from '../../contract/engine.ts';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { checkGraph } from '../graph/check-graph.ts';
import { GRAPH_LIMITS, graphCode } from '../graph/graph-schema.ts';
import type { NodeTypes } from '../ports/execution.ts';

/** Where a graph was found: in a request body, or in the database. The pointers of its errors begin with it. */
export type GraphPlace = '/body/graph' | '/graph';

/** The given value as a valid graph. Throws `workflow.graph-invalid` with all of its problems. */
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
 * @param others what else is wrong with the request; listed first
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
