import type { WorkflowInfo } from '../../contract/engine.ts';
import type { Graph } from '../../contract/graph.ts';
import type { VersionRecord } from '../../contract/runs.ts';
import type { StoredDefinition } from '../../store/definition-store.ts';
import type { StoredVersion } from '../../store/versions.ts';
import { timestamp } from '../core/state.ts';
import { maskConfig, type Redactor, redactJson } from '../views/redaction.ts';
import type { WorkflowFile } from './workflow-resource.ts';

/** Who made the definitions that are files. */
export const DEPLOYMENT = 'deployment';

/** A definition on the wire (decisions 2.3). */
export interface DefinitionRecord extends WorkflowInfo {
  /** The draft: what the next publishing makes a version of. */
  readonly graph: Graph;
  readonly revision: number;
  readonly created_by: string;
  /** Made through the API, or a file of agents.d, which the API cannot change. */
  readonly source: 'api' | 'file';
}

/** How a graph is shown to a caller. */
export type ShowGraph = (graph: Graph) => Graph;

/** A stored definition on the wire. */
export function definitionRecord(stored: StoredDefinition, show: ShowGraph): DefinitionRecord {
  return {
    id: stored.id,
    name: stored.name,
    description: stored.description,
    status: stored.status,
    graph: show(stored.graph),
    latest_version: stored.latestVersion,
    revision: stored.revision,
    created_by: stored.createdBy,
    created_at: timestamp(stored.createdAt),
    updated_at: timestamp(stored.updatedAt),
    source: 'api',
  };
}

/** A workflow of agents.d on the wire: a draft while it names node types that no plugin brings. */
export function fileRecord(file: WorkflowFile, generation: number, show: ShowGraph): DefinitionRecord {
  return {
    id: file.name,
    name: file.name,
    description: file.description,
    status: file.problems().length === 0 ? 'published' : 'draft',
    graph: show(file.graph),
    latest_version: null,
    revision: generation,
    created_by: DEPLOYMENT,
    created_at: timestamp(file.loadedAt),
    updated_at: timestamp(file.loadedAt),
    source: 'file',
  };
}

/** A version on the wire. */
export function versionRecord(stored: StoredVersion, show: ShowGraph): VersionRecord {
  return {
    id: stored.id,
    definition_id: stored.definitionId,
    version: stored.version,
    graph: show(stored.graph) as unknown as VersionRecord['graph'],
    published_by: stored.publishedBy,
    published_at: timestamp(stored.publishedAt),
  };
}

/**
 * Shows graphs to callers that may not write them: credentials in their texts are redacted, and all values of headers
 * like `Authorization` are masked. Everything else is as it was written.
 */
export function showRedacted(redactor: Redactor): ShowGraph {
  return (graph) => {
    const nodes = graph.nodes.map((node) =>
      node.config === undefined ? node : { ...node, config: maskConfig(node.config) },
    );
    // A graph is plain JSON, which its interface does not express.
    const masked = { ...graph, nodes } as unknown as Parameters<typeof redactJson>[1];
    return redactJson(redactor, masked) as unknown as Graph;
  };
}
