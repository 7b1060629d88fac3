import { compareText } from './compare-text.ts';

/** Which node leads to which: by id, each target once, in the order of their ids. Every node has an entry. */
export type Links = ReadonlyMap<string, readonly string[]>;

/** Makes links of edges. Those that lead from a node to itself, or have an end that is no node, are left out. */
export function linksOf(
  ids: readonly string[],
  edges: readonly { readonly from: string | undefined; readonly to: string | undefined }[],
): Links {
  const targets = new Map([...ids].sort(compareText).map((id) => [id, new Set<string>()]));
  for (const { from, to } of edges) {
    if (from === undefined || to === undefined || from === to || !targets.has(to)) continue;
    targets.get(from)?.add(to);
  }
  return new Map([...targets].map(([id, to]) => [id, [...to].sort(compareText)]));
}

/** The nodes that can be reached from some nodes, these included; what is nearer comes first. */
export function reachableFrom(starts: readonly string[], links: Links): ReadonlySet<string> {
  const reached = new Set(starts);
  // A set gives what is added while it is walked, too.
  for (const id of reached) {
    for (const target of links.get(id) ?? []) reached.add(target);
  }
  return reached;
}

/** How many links lead to each node. */
export function countIncoming(links: Links): Map<string, number> {
  const counts = new Map([...links.keys()].map((id) => [id, 0]));
  for (const targets of links.values()) {
    for (const target of targets) counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  return counts;
}
