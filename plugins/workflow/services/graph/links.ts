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
 * All nodes, each after those that lead to it; of several that could come next the one with the smallest id. So it does not depend on the order in
 * the file. `undefined` when there is a cycle.
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
      if (left === 0) insertSorted(ready, target);
    }
  }
  return order.length === links.size ? order : undefined;
}

function insertSorted(ids: string[], id: string): void {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  ids.splice(low, 0, id);
}

/**
 * Finds cycles that share no node, as the ids on their way; without all their nodes there would be no cycle left. They do not depend on the order of
 * nodes and edges. Time grows with nodes times links at most, and no stack is needed.
 *
 * @param entries nodes at which a cycle begins by preference, the best first; else at its smallest id
 */
export function findCycles(links: Links, entries: Iterable<string> = []): readonly (readonly string[])[] {
  const ranks = new Map([...entries].map((id, rank) => [id, rank]));
  const cycles: (readonly string[])[] = [];
  const rest = createRest(links);
  for (const id of links.keys()) {
    while (rest.has(id)) {
      const cycle = walkUntilRepeated(id, rest);
      cycles.push(fromBest(cycle, ranks));
      rest.remove(cycle);
    }
  }
  return cycles;
}

/** What is left of links: only nodes to which, and from which, something else that is left leads. */
interface Rest {
  has(id: string): boolean;
  /** The first of the nodes that are left to which a node leads. */
  next(id: string): string | undefined;
  /** Takes nodes away, and all that are of no use then. */
  remove(ids: readonly string[]): void;
}

function createRest(links: Links): Rest {
  const sources = reversed(links);
  const left = new Set(links.keys());
  const neighbours = [links, sources].map((lists) => ({
    lists,
    counts: new Map([...lists].map(([id, list]) => [id, list.length])),
  }));

  function remove(ids: Iterable<string>): void {
    // A set gives what is added while it is walked, too.
    const gone = new Set(ids);
    for (const id of gone) {
      left.delete(id);
      for (const [direction, { counts }] of neighbours.entries()) {
        // Who leads to it has one way less to go on, and the other way round.
        for (const other of neighbours[1 - direction]?.lists.get(id) ?? []) {
          const count = (counts.get(other) ?? 0) - 1;
          counts.set(other, count);
          // One that is gone already has been counted off its neighbours.
          if (count === 0 && left.has(other)) gone.add(other);
        }
      }
    }
  }

  remove(
    neighbours.flatMap(({ counts }) => [...counts].filter(([, count]) => count === 0).map(([id]) => id)),
  );
  return {
    has: (id) => left.has(id),
    next: (id) => links.get(id)?.find((target) => left.has(target)),
    remove,
  };
}

/** Every node that is left leads somewhere, so that going on and on comes back. */
function walkUntilRepeated(start: string, rest: Rest): readonly string[] {
  const way: string[] = [];
  const positions = new Map<string, number>();
  let id: string | undefined = start;
  while (id !== undefined && !positions.has(id)) {
    positions.set(id, way.length);
    way.push(id);
    id = rest.next(id);
  }
  return way.slice(positions.get(id ?? ''));
}

function reversed(links: Links): Links {
  const sources = new Map([...links.keys()].map((id): [string, string[]] => [id, []]));
  for (const [id, targets] of links) {
    for (const target of targets) sources.get(target)?.push(id);
  }
  return sources;
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
