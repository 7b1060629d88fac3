import { compareText } from './compare-text.ts';
import { countIncoming, type Links } from './links.ts';

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
