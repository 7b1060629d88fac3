/** A node that a search may ask. */
export interface Candidate {
  readonly id: string;
  /** Null: it was registered before owners were kept. All such nodes count as those of one owner. */
  readonly owner: string | null;
}

/**
 * The nodes that a search asks, `limit` at most: one of each owner in turn, so that nobody gets more places by having
 * more nodes. Of one owner those come first that were asked least recently, and of the owners those. So every node that
 * stays has its turn. Pure.
 *
 * @param askedIn the number of the latest search that asked a node; lower than all others where none has
 */
export function chooseNodes(
  candidates: readonly Candidate[],
  limit: number,
  askedIn: (id: string) => number,
): readonly string[] {
  if (candidates.length <= limit) return candidates.map(({ id }) => id);
  const seen = candidates.map(({ id, owner }) => ({ id, owner, asked: askedIn(id) }));
  const lines = [...Map.groupBy(seen, ({ owner }) => owner).values()].map((nodes) => nodes.sort(byTurn));
  lines.sort((one, other) => byTurn(one.at(-1)!, other.at(-1)!));
  const chosen: string[] = [];
  for (let round = 0; chosen.length < limit; round += 1)
    chosen.push(...lines.flatMap((line) => line[round]?.id ?? []).slice(0, limit - chosen.length));
  return chosen;
}

function byTurn(one: { id: string; asked: number }, other: { id: string; asked: number }): number {
  return one.asked - other.asked || (one.id < other.id ? -1 : 1);
}
