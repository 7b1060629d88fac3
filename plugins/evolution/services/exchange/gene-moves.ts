import type { DurableEvents, TenantEntityManager } from 'agent-gateway';
import { type GeneMove, GeneMoved } from '../../contract.ts';
import { type GeneRow, GeneTable } from '../../store/tables.ts';
import { ANONYMOUS, isMeantElsewhere, toShared } from './shared-gene.ts';

/** Publishes that genes have moved, in the transaction that moves them. */
export type AnnounceMoves = (
  entities: TenantEntityManager,
  moves: readonly { readonly from: string; readonly to: GeneRow }[],
) => Promise<void>;

const MOVES: Readonly<Record<string, readonly GeneMove['change'][]>> = {
  candidate: ['promoted', 'revoked'],
  promoted: ['quarantined', 'revoked'],
  quarantined: ['promoted', 'revoked'],
};

/** What a change of state is to others; undefined where it is nothing. Pure. */
export function moveOf(from: string, to: string): GeneMove['change'] | undefined {
  return MOVES[from]?.find((change) => change === to);
}

export function createAnnounceMoves(durableEvents: Pick<DurableEvents, 'publish'>): AnnounceMoves {
  return async (entities, moves) => {
    for (const { from, to } of moves) {
      const change = moveOf(from, to.state);
      if (change === undefined || !isMeantElsewhere(to)) continue;
      await durableEvents.publish(entities, GeneMoved, { change, from, gene: toShared(to, ANONYMOUS) });
    }
  };
}

/** The states of genes that are about to change: those that are not there yet are candidates. */
export async function statesBefore(
  entities: TenantEntityManager,
  genes: readonly GeneRow[],
): Promise<readonly { readonly from: string; readonly to: GeneRow }[]> {
  if (genes.length === 0) return [];
  const rows = await entities.rows(
    GeneTable,
    { id: { $in: genes.map(({ id }) => id) } },
    { fields: ['id', 'state'], limit: genes.length },
  );
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  return genes.map((to) => ({ from: states.get(to.id) ?? 'candidate', to }));
}
