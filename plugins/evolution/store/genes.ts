import { LockMode } from '@mikro-orm/core';
import { type Clock, type Database, type Ids, RETRY_RACES, type TenantEntityManager } from 'agent-gateway';
import type { ArmCount } from '../rules/uplift.ts';
import { type GeneRow, GeneTable, OutcomeTable, TombstoneTable } from './tables.ts';

/** The filter of a list of genes. */
export interface GeneFilter {
  /** In the label, the component or the name of the agent. */
  readonly text?: string | undefined;
  readonly minConfidence?: number | undefined;
  readonly state?: GeneRow['state'] | undefined;
  /** Rows at most. */
  readonly limit: number;
}

/** Genes of a tenant, added up. */
export interface GeneTotals {
  readonly count: number;
  /** Sums over all. */
  readonly confidence: number;
  readonly uses: number;
  readonly successes: number;
}

/** The genes with the highest confidence first, and the number of all that match. */
export function listGenes(
  entities: TenantEntityManager,
  { text, minConfidence, state, limit }: GeneFilter,
): Promise<[GeneRow[], number]> {
  return entities.page(
    GeneTable,
    {
      ...(minConfidence === undefined ? {} : { confidence: { $gte: minConfidence } }),
      ...(state === undefined ? {} : { state }),
    },
    {
      orderBy: { confidence: 'desc', id: 'desc' },
      limit,
      ...(text === undefined ? {} : { search: { text, in: ['label', 'component', 'agentName'] } }),
    },
  );
}

/** All genes that are not revoked, in numbers. */
export async function geneTotals(entities: TenantEntityManager): Promise<GeneTotals> {
  const [sums] = await entities.aggregate(GeneTable, {
    where: { state: { $ne: 'revoked' } },
    sum: ['confidence', 'useCount', 'successCount'],
  });
  return {
    count: sums?.count ?? 0,
    confidence: sums?.confidence ?? 0,
    uses: sums?.useCount ?? 0,
    successes: sums?.successCount ?? 0,
  };
}

/** Tasks since a day (`2030-01-31`), with advice and without. */
export async function armsSince(
  entities: TenantEntityManager,
  day: string,
): Promise<{ readonly advised: ArmCount; readonly holdout: ArmCount }> {
  const sums = await entities.aggregate(OutcomeTable, {
    where: { day: { $gte: day } },
    by: ['arm'],
    sum: ['tasks', 'successes'],
  });
  const of = (wanted: string): ArmCount => {
    const found = sums.find(({ arm }) => arm === wanted);
    return { tasks: found?.tasks ?? 0, successes: found?.successes ?? 0 };
  };
  return { advised: of('advised'), holdout: of('holdout') };
}

/** Revokes genes that are locked, each with its tombstone, in the caller's transaction. */
export async function revokeGenes(
  entities: TenantEntityManager,
  genes: readonly Pick<GeneRow, 'id' | 'contentHash' | 'version' | 'validation'>[],
  reason: string,
  { clock, ids }: { readonly clock: Pick<Clock, 'now'>; readonly ids: Pick<Ids, 'uuid'> },
): Promise<void> {
  const now = new Date(clock.now());
  for (const { id, contentHash, version, validation } of genes) {
    const tombstone = { id: ids.uuid(), contentHash, reason, createdAt: now };
    await entities.upsert(TombstoneTable, tombstone, { conflict: ['contentHash'], update: ['reason'] });
    await entities.update(
      GeneTable,
      { id },
      {
        state: 'revoked',
        validation: { ...validation, decidedBy: 'operator' },
        version: version + 1,
        updatedAt: now,
      },
    );
  }
}

/** Rows of one statement. */
const BATCH = 500;

/**
 * Removes the name of a tenant, and of its deployment, from the genes that others have from it. The signal ends it
 * early, by throwing.
 */
export async function forgetContributor(
  database: Pick<Database, 'system'>,
  contributor: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const query = { fields: ['id'], limit: BATCH, disableIdentityMap: true } as const;
    const named = await database.system().find(GeneTable, { contributor }, query);
    if (named.length === 0) return;
    const ids = named.map(({ id }) => id);
    const nameless = { contributor: null, senderId: null };
    await database.system().nativeUpdate(GeneTable, { id: { $in: ids }, contributor }, nameless);
  }
}

/**
 * Changes a gene, which is locked meanwhile, and returns it before and after. `change` may throw; without a gene
 * `missing()` is thrown.
 */
export function changeGene(
  database: Pick<Database, 'forTenant'>,
  tenantId: string,
  id: string,
  missing: () => Error,
  change: (entities: TenantEntityManager, gene: GeneRow) => Promise<void>,
): Promise<{ readonly before: GeneRow; readonly after: GeneRow }> {
  return database.forTenant(tenantId).transaction(async (entities) => {
    const options = { lockMode: LockMode.PESSIMISTIC_WRITE, otherwise: missing } as const;
    const before = await entities.findOneOrFail(GeneTable, { id }, options);
    await change(entities, before);
    const [after] = await entities.rows(GeneTable, { id }, { limit: 1 });
    return { before, after: after ?? before };
  }, RETRY_RACES);
}
