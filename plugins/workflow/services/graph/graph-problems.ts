import type { GraphProblem } from '../../contract/graph.ts';
import { type GraphRule, graphCode } from './graph-rules.ts';
import { GRAPH_LIMITS } from './limits.ts';

/** Where a problem is. */
export interface ProblemPlace {
  readonly pointer: string;
  readonly node?: string | undefined;
  readonly edge?: number | undefined;
}

/** Collects what is wrong with a graph, `GRAPH_LIMITS.problems` at most. */
export interface GraphProblems {
  add(rule: GraphRule, message: string, place: ProblemPlace): void;
  /** With a code of another owner, where a node type has codes of its own. */
  addCoded(code: string, message: string, place: ProblemPlace): void;
  /** In the order in which they were found. */
  list(): readonly GraphProblem[];
}

/** Begins a collection. */
export function createProblems(): GraphProblems {
  const problems: GraphProblem[] = [];
  let isFull = false;

  function addCoded(code: string, message: string, { pointer, node, edge }: ProblemPlace): void {
    if (problems.length === GRAPH_LIMITS.problems) {
      isFull = true;
      return;
    }
    problems.push({
      code,
      message,
      pointer,
      ...(node === undefined ? {} : { node }),
      ...(edge === undefined ? {} : { edge }),
    });
  }

  return {
    add: (rule, message, place) => addCoded(graphCode(rule), message, place),
    addCoded,
    list: () => (isFull ? [...problems, MORE] : problems),
  };
}

const MORE: GraphProblem = {
  code: graphCode('more-problems'),
  message: `There are more problems. Put these ${GRAPH_LIMITS.problems} right first.`,
  pointer: '',
};
