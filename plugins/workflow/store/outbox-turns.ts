import type { RowKey, WaitingRow } from './outbox-rows.ts';
import { READY } from './tables/outbox-table.ts';

/** How many entries of a tenant may be taken. */
export type Room = (tenantId: string) => number;

/** A row that is the first of its run stays it: earlier ones do not come later. */
const isFirst = (row: WaitingRow) => row.fromSeq === row.firstSeq;

/** Asks each tenant's room once. */
export function roomOnce(room: Room): Room {
  const known = new Map<string, number>();
  return (tenantId) => {
    const found = known.get(tenantId) ?? room(tenantId);
    known.set(tenantId, found);
    return found;
  };
}

/**
 * Whose turn it is: the first rows of runs, no more of a tenant than it has room, the first of each tenant, then the second …; who has more room
 * goes first, then who has waited longer. Pure.
 */
export function turnsOf(rows: readonly WaitingRow[], room: Room, limit: number): readonly WaitingRow[] {
  const turns = [...Map.groupBy(rows.filter(isFirst), ({ tenantId }) => tenantId)].flatMap(
    ([tenantId, heads]) => {
      const places = Math.min(room(tenantId), limit);
      return heads.slice(0, Math.max(0, places)).map((row, index) => ({ row, turn: index - places }));
    },
  );
  turns.sort((a, b) => a.turn - b.turn || a.row.createdAt - b.row.createdAt);
  return turns.slice(0, limit).map(({ row }) => row);
}

/** Rows that are behind one of their run that waits, or is taken now, and until when that one is away. Pure. */
export function behind(
  rows: readonly WaitingRow[],
  taken: readonly RowKey[],
  claimMs: number,
): { readonly keys: readonly RowKey[]; readonly until: ReadonlyMap<string, number> } {
  const takenRuns = new Set(taken.map(({ runId }) => runId));
  const keys: RowKey[] = [];
  const until = new Map<string, number>();
  for (const row of rows) {
    if (isFirst(row)) continue;
    const isTaken = row.firstNextAt === READY && takenRuns.has(row.runId);
    // Ready behind one that is ready, and not taken yet: it goes with that one.
    if (!isTaken && row.firstNextAt <= row.now) continue;
    keys.push(row);
    until.set(row.runId, isTaken ? row.now + claimMs : row.firstNextAt);
  }
  return { keys, until };
}
