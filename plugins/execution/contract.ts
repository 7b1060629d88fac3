import { extensionPoint } from 'agent-gateway';
import type { Graph } from '../workflow/contract.ts';

/** What other plugins may use of the execution server: adding graphs that jobs run. */

/**
 * A graph that jobs run by its name, as they run a `kind: Workflow` of agents.d. It belongs to the deployment: every
 * tenant may run it.
 */
export interface JobGraph {
  /** `<plugin>/<name>`, lower-case letters, digits, `_` and `-`, 63 characters each at most. */
  readonly name: string;
  /**
   * By the rules of workflows. A job that has begun keeps the graph that it began with. A graph that breaks a rule is
   * left out, and logged; one with a node type that no plugin brings now can run once it is there.
   */
  readonly graph: Graph;
}

/** Graphs of plugins, for the jobs of every tenant. */
export const JobGraphsPoint = extensionPoint<JobGraph>('execution.graphs', { name: 'text' });
