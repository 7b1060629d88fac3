import type { NodeType } from '../../contract/node-types.ts';
import type { CompiledGraph } from '../graph/compiled-graph.ts';

/** The types of automatic nodes that are there now. They come and go with their plugins. */
export interface NodeTypes {
  get(type: string): NodeType | undefined;
  /** Names of all types, the built-in ones first. */
  names(): readonly string[];
}

/** Graphs of versions, compiled and cached: versions never change. */
export interface Graphs {
  /** Throws when there is no such version. */
  get(tenantId: string, versionId: string): Promise<CompiledGraph>;
}
