import type { DurableEvents, TenantEntityManager } from 'agent-gateway';
import { type GeneMove, GeneMoved } from '../../contract.ts';
import { type GeneRow, GeneTable } from '../../store/tables.ts';
import { ANONYMOUS, isMeantElsewhere, toShared } from './shared-gene.ts';

/** Publishes changes of state of genes, in the transaction that makes them. */
export type AnnounceMoves = (
  entities: TenantEntityManager,
  moves: readonly { readonly from: string; readonly to: GeneRow }[],
) => Promise<void>;

const MOVES: Readonly<Record<string, readonly GeneMove['change'][]>> = {
  candidate: ['promoted', 'revoked'],
  promoted: ['quarantined', 'revoked'],
  quarantined: ['promoted', 'revoked'],
};

/** The change as others see it; undefined where it does not concern them. Pure. */
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

/** The states of genes that are about to change: genes that are not stored yet count as candidates. */
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
