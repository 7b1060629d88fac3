import { LRUCache } from 'lru-cache';
import { WorkflowErrors } from '../contract/engine.ts';
import type { Graph } from '../contract/graph.ts';
import type { CompiledGraph } from './graph/compiled-graph.ts';
import type { Versions } from './ports/definition-store.ts';

/** Graphs of versions, compiled and cached: versions never change. */
export interface Graphs {
  /** Throws when there is no such version. */
  get(tenantId: string, versionId: string): Promise<CompiledGraph>;
}

/** Graphs that are kept at most. */
const MAX_GRAPHS = 1_000;
/** Characters of JSON of all graphs that are kept. Compiled, a graph takes a few times as many bytes. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** What the graphs are made of. */
interface GraphsParts {
  readonly versions: Pick<Versions, 'get'>;
  /** Rejects nothing that was published. */
  readonly compile: (graph: Graph) => CompiledGraph;
}

/**
 * Graphs by their version, compiled once and kept while there is room; a version never changes. Several who ask for the same graph at one
 * time share one read. Throws `workflow.definition-not-found` for a version that the tenant does not have.
 */
export function createGraphs({ versions, compile }: GraphsParts): Graphs {
  const kept = new LRUCache<string, CompiledGraph>({ max: MAX_GRAPHS, maxSize: MAX_CHARACTERS });
  const underWay = new Map<string, Promise<CompiledGraph>>();

  async function load(key: string, tenantId: string, versionId: string): Promise<CompiledGraph> {
    const version = await versions.get(tenantId, versionId);
    if (version === undefined) {
      throw WorkflowErrors.definitionNotFound(`The version ${versionId} of the workflow is gone.`);
    }
    const graph = compile(version.graph);
    kept.set(key, graph, { size: JSON.stringify(version.graph).length });
    return graph;
  }

  return {
    async get(tenantId, versionId) {
      const key = `${tenantId} ${versionId}`;
      const graph = kept.get(key);
      if (graph !== undefined) return graph;
      const loading = underWay.get(key) ?? load(key, tenantId, versionId);
      underWay.set(key, loading);
      try {
        return await loading;
      } finally {
        underWay.delete(key);
      }
    },
  };
}
