import { compareText } from './compare-text.ts';
import type { Links } from './links.ts';

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
