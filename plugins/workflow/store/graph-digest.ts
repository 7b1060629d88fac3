import { createHash } from 'node:crypto';
import type { Graph } from '../contract/graph.ts';

/** SHA-256 of a graph as JSON whose members are sorted: equal for equal JSON values, however they were written. */
export function graphDigest(graph: Graph): string {
  return createHash('sha256').update(JSON.stringify(graph, sorted)).digest('hex');
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
