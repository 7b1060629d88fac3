import { type Logger, nearestName } from 'agent-gateway';
import type { Graph, WorkflowDefinitions } from '../../workflow/contract.ts';
import type { JobGraph } from '../contract.ts';
import { JobErrors } from './errors.ts';

/** Where graphs come from. */
interface GraphsParts {
  /** The `kind: Workflow` of agents.d, and the rules of graphs. */
  readonly definitions: Pick<WorkflowDefinitions, 'file' | 'fileNames' | 'check'>;
  /** Those of plugins, as they are now. */
  readonly contributed: () => readonly JobGraph[];
  readonly log: Logger;
}

/** Names that an error lists at most. */
const MAX_LISTED = 20;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}\/[a-z0-9][a-z0-9_-]{0,62}$/;

export type Graphs = ReturnType<typeof createGraphs>;

/**
 * The graphs that jobs run, by name: files of agents.d, and graphs that plugins contribute. The names of the latter
 * have a slash, so the two kinds never collide. The same for all tenants.
 */
export function createGraphs({ definitions, contributed, log }: GraphsParts) {
  // Keyed by the contribution, not by its name: a reloaded plugin with the same mistake is logged again.
  const logged = new WeakSet<JobGraph>();
  const valid = new WeakSet<JobGraph>();

  function refuse(graph: JobGraph, why: string): void {
    if (logged.has(graph)) return;
    logged.add(graph);
    log.error({ graph: String(graph.name).slice(0, 200) }, `a graph of a plugin is left out: ${why}`);
  }

  /** Of several graphs with one name the first wins. */
  function ofPlugins(): ReadonlyMap<string, JobGraph> {
    const graphs = new Map<string, JobGraph>();
    for (const graph of contributed()) {
      if (!NAME.test(graph.name))
        refuse(graph, 'its name is not <plugin>/<name> of lower-case letters, digits, "_" and "-"');
      else if (graphs.has(graph.name)) refuse(graph, 'another one has its name');
      else graphs.set(graph.name, graph);
    }
    return graphs;
  }

  function requireRunnable(contribution: JobGraph): Graph {
    const { name, graph } = contribution;
    if (valid.has(contribution)) return graph;
    const problems = definitions.check(graph);
    if (problems.length === 0) {
      valid.add(contribution);
      return graph;
    }
    throw JobErrors.graphNotRunnable(
      `The graph ${name} of a plugin cannot run now: ${problems[0]!.message}`,
      {
        errors: problems.map((problem) => ({ ...problem, pointer: `/graph${problem.pointer}` })),
      },
    );
  }

  function unknown(name: string) {
    const names = [...definitions.fileNames(), ...ofPlugins().keys()];
    const meant = nearestName(name, names);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    const more = names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : '';
    const listed = names.length === 0 ? 'none' : names.slice(0, MAX_LISTED).join(', ') + more;
    return JobErrors.graphNotFound(
      `No workflow of agents.d and no graph of a plugin has this name.${hint} There are: ${listed}.`,
      { errors: [{ pointer: '/body/graph_name', message: 'must be the name of a graph' }] },
    );
  }

  return {
    /**
     * The graph as it is now. Throws `job.graph-not-found`, and `job.graph-not-runnable` or `workflow.not-published`
     * for one that cannot run now.
     */
    get(name: string): Graph {
      const contribution = ofPlugins().get(name);
      const graph = contribution === undefined ? definitions.file(name) : requireRunnable(contribution);
      if (graph === undefined) throw unknown(name);
      return graph;
    },
  };
}
