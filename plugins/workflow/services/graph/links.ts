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
function countIncoming(links: Links): Map<string, number> {
  const counts = new Map([...links.keys()].map((id) => [id, 0]));
  for (const targets of links.values()) {
    for (const target of targets) counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  return counts;
}

/**
 * All nodes, each after those that lead to it; of several that could come next the one with the smallest id. So it does
 * not depend on the order in the file. `undefined` when there is a cycle.
 */
export function topologicalOrder(links: Links): readonly string[] | undefined {
  const incoming = countIncoming(links);
  const ready = [...links.keys()].filter((id) => incoming.get(id) === 0).sort(compareText);
  const order: string[] = [];
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    order.push(id);
    for (const target of links.get(id) ?? []) {
      const left = (incoming.get(target) ?? 0) - 1;
      incoming.set(target, left);
      if (left === 0) ready.push(target);
    }
    ready.sort(compareText);
  }
  return order.length === links.size ? order : undefined;
}

/**
 * Finds cycles that share no node, as the ids on their way; without all their nodes there would be no cycle left. They
 * do not depend on the order of nodes and edges. Time grows with nodes times links at most, and no stack is needed.
 *
 * @param entries nodes at which a cycle begins by preference, the best first; else at its smallest id
 */
export function findCycles(links: Links, entries: Iterable<string> = []): readonly (readonly string[])[] {
  const ranks = new Map([...entries].map((id, rank) => [id, rank]));
  const cycles: (readonly string[])[] = [];
  const left = new Set(links.keys());
  keepCyclic(left, links);
  for (const id of links.keys()) {
    while (left.has(id)) {
      const cycle = walkUntilRepeated(id, (from) => links.get(from)?.find((target) => left.has(target)));
      cycles.push(fromBest(cycle, ranks));
      for (const gone of cycle) left.delete(gone);
      keepCyclic(left, links);
    }
  }
  return cycles;
}

/**
 * Takes nodes away to which, or from which, nothing else that is left leads: each round one at least, so there are no
 * more rounds than nodes.
 */
function keepCyclic(left: Set<string>, links: Links): void {
  for (let before = left.size + 1; left.size < before; ) {
    before = left.size;
    const targets = new Set([...left].flatMap((id) => links.get(id) ?? []));
    for (const id of left) {
      const leadsOn = links.get(id)?.some((target) => left.has(target));
      if (!leadsOn || !targets.has(id)) left.delete(id);
    }
  }
}

/** From every node that is left `next` leads somewhere, so that going on and on comes back. */
function walkUntilRepeated(start: string, next: (id: string) => string | undefined): readonly string[] {
  const way: string[] = [];
  const positions = new Map<string, number>();
  let id: string | undefined = start;
  while (id !== undefined && !positions.has(id)) {
    positions.set(id, way.length);
    way.push(id);
    id = next(id);
  }
  return way.slice(positions.get(id ?? ''));
}

function fromBest(cycle: readonly string[], ranks: ReadonlyMap<string, number>): readonly string[] {
  const rankOf = (id: string) => ranks.get(id) ?? ranks.size;
  const [best = ''] = [...cycle].sort((a, b) => rankOf(a) - rankOf(b) || compareText(a, b));
  const at = cycle.indexOf(best);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}

/** Orders texts by their UTF-16 code units, the same everywhere. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
