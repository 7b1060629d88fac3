import { type Clock, createSharedCache } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { Graph } from '../contract/graph.ts';
import type { Versions } from '../store/versions.ts';
import type { CompiledGraph } from './graph/compiled-graph.ts';

/** Graphs that are kept at most. */
const MAX_GRAPHS = 1_000;

export type Graphs = ReturnType<typeof createGraphs>;

/** Graphs of versions, compiled and cached: versions never change. `compile` rejects nothing that was published. */
export function createGraphs({
  versions,
  compile,
  clock,
}: {
  readonly versions: Pick<Versions, 'get'>;
  readonly compile: (graph: Graph) => CompiledGraph;
  readonly clock: Pick<Clock, 'monotonic'>;
}) {
  const graphs = createSharedCache<CompiledGraph>({
    clock,
    maxAge: Number.POSITIVE_INFINITY,
    maxEntries: MAX_GRAPHS,
    // Compiled, a graph takes a few times as many bytes as its JSON has characters.
    weigh: ({ graph }) => JSON.stringify(graph).length,
    async load(key) {
      const [tenantId = '', versionId = ''] = key.split(' ');
      const version = await versions.get(tenantId, versionId);
      if (version !== undefined) return compile(version.graph);
      throw WorkflowErrors.definitionNotFound(`The version ${versionId} of the workflow is gone.`);
    },
  });
  return {
    /** Throws `workflow.definition-not-found` for a version that the tenant does not have. */
    get: async (tenantId: string, versionId: string) => graphs.get(`${tenantId} ${versionId}`),
  };
}
