import type { DrawnGraph, DrawnNode } from './drawn-graph.ts';

/** Types that are not carried out by a worker. */
export const FIXED_TYPES = ['start', 'end', 'human_task'] as const;

/** The nodes of a drawn graph by id. */
export interface NodeIndex {
  /** Each id once. */
  readonly ids: readonly string[];
  has(id: string): boolean;
  /** The type of the node, where it is known and only one node has the id: nothing is said about others. */
  typeOf(id: string): string | undefined;
  /** The node of an id; the first, where several have it. */
  get(id: string): DrawnNode | undefined;
}

/** @param known names of all types */
export function indexNodes({ nodes }: DrawnGraph, known: ReadonlySet<string>): NodeIndex {
  const byId = new Map<string, DrawnNode>();
  const ambiguous = new Set<string>();
  for (const node of nodes) {
    if (node.id === undefined) continue;
    if (byId.has(node.id)) ambiguous.add(node.id);
    else byId.set(node.id, node);
  }
  return {
    ids: [...byId.keys()],
    has: (id) => byId.has(id),
    get: (id) => byId.get(id),
    typeOf: (id) => {
      const type = ambiguous.has(id) ? undefined : byId.get(id)?.type;
      return type !== undefined && known.has(type) ? type : undefined;
    },
  };
}
