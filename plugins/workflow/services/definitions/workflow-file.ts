import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { NodeTypes } from '../ports/execution.ts';

/** A workflow of agents.d. It belongs to the deployment, and every tenant may run it. */
export interface WorkflowFile {
  readonly name: string;
  readonly description: string;
  readonly graph: Graph;
  /** When this process read it, milliseconds since the epoch. */
  readonly loadedAt: number;
  /**
   * What is in the way of running it: a node type of a plugin that is not there, or a configuration that the type refuses. Once there was nothing,
   * there is nothing any more: like a published version it stays what it is, and a step whose type is gone fails by itself.
   */
  problems(): readonly GraphProblem[];
}

/** Makes the value of a file. `types` are looked at anew each time until nothing is wrong. */
export function workflowFile(content: Omit<WorkflowFile, 'problems'>, types: NodeTypes): WorkflowFile {
  let isValid = false;
  return {
    ...content,
    problems() {
      if (isValid) return [];
      const problems = checkGraph(content.graph, types);
      isValid = problems.length === 0;
      return problems;
    },
  };
}
