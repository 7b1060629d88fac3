/** An order in which everything comes after what it needs, and the circles that have none. */
export interface BuildOrder {
  /** Every node that is in no circle. */
  readonly order: readonly string[];
  /** Each a set of nodes that need each other. */
  readonly circles: readonly (readonly string[])[];
}

/**
 * Orders nodes by their needs (Tarjan's strongly connected components). Needs that are no nodes do not count. The
 * result depends on the graph alone, not on the order of the map.
 */
export function buildOrder(needs: ReadonlyMap<string, readonly string[]>): BuildOrder {
  const indexes = new Map<string, number>();
  const lows = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const order: string[] = [];
  const circles: string[][] = [];

  const close = (node: string) => {
    const members = open.splice(open.lastIndexOf(node));
    for (const member of members) isOpen.delete(member);
    const isCircle = members.length > 1 || needs.get(node)!.includes(node);
    if (isCircle) circles.push(members.sort());
    else order.push(node);
  };
  const enter = (node: string) => {
    indexes.set(node, indexes.size);
    lows.set(node, indexes.get(node)!);
    open.push(node);
    isOpen.add(node);
    return {
      node,
      next: needs
        .get(node)!
        .filter((need) => needs.has(need))
        .sort(),
    };
  };

  for (const root of [...needs.keys()].sort()) {
    if (indexes.has(root)) continue;
    // A stack of its own: a chain of ten thousand would be too deep for the machine's.
    const path = [enter(root)];
    while (path.length > 0) {
      const { node, next } = path.at(-1)!;
      const need = next.shift();
      if (need === undefined) {
        path.pop();
        const above = path.at(-1)?.node;
        if (above !== undefined) lows.set(above, Math.min(lows.get(above)!, lows.get(node)!));
        if (lows.get(node) === indexes.get(node)) close(node);
      } else if (!indexes.has(need)) path.push(enter(need));
      else if (isOpen.has(need)) lows.set(node, Math.min(lows.get(node)!, indexes.get(need)!));
    }
  }
  return { order, circles };
}

/** One way around a circle through `node`, which comes first and last. `members` need each other. */
export function wayAround(
  node: string,
  members: ReadonlySet<string>,
  needs: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const cameFrom = new Map<string, string>();
  const queue = [node];
  for (const current of queue) {
    for (const need of needs.get(current) ?? []) {
      if (need === node) {
        const way = [node];
        for (let at = current; at !== node; at = cameFrom.get(at)!) way.push(at);
        return [...way, node].reverse();
      }
      if (!members.has(need) || cameFrom.has(need)) continue;
      cameFrom.set(need, current);
      queue.push(need);
    }
  }
  return [node, node];
}
