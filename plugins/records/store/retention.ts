import type { InferEntity } from '@mikro-orm/core';
import { column, type Database, defineEntity, RETRY_RACES, type TenantEntityManager } from 'agent-gateway';
import { type Kysely, sql } from 'kysely';

/** Characters of the name of a kind; the migration `012-retention` has the same. */
const KIND_LENGTH = 64;

/** How long a tenant keeps its records of a kind, if it has a rule of its own. */
export const RetentionRuleRow = defineEntity({
  name: 'RetentionRule',
  tableName: 'retention_rules',
  properties: {
    tenantId: column.tenant().primary(),
    kind: column.string(KIND_LENGTH).primary(),
    /** Milliseconds; null: for good. */
    keepMs: column.bigint().strictNullable(),
    /** Until then nothing is deleted. */
    deletesFrom: column.time(),
  },
});

/** How many records of a kind a tenant had when they were counted last. */
export const RetentionSizeRow = defineEntity({
  name: 'RetentionSize',
  tableName: 'retention_sizes',
  indexes: [{ name: 'retention_sizes_largest', properties: ['kind', 'records'] }],
  properties: {
    tenantId: column.tenant().primary(),
    kind: column.string(KIND_LENGTH).primary(),
    records: column.bigint(),
    countedAt: column.time(),
  },
});

/** A rule as it is stored. */
export type StoredRule = Pick<InferEntity<typeof RetentionRuleRow>, 'keepMs' | 'deletesFrom'>;

/** More than there are kinds. */
const ALL_KINDS = 1_000;
/** Rules that are read at one time. */
const PAGE = 500;
/** Sizes that one statement writes. */
const BATCH = 200;

/** The tenant's own rules, by kind. */
export async function findRules(entities: TenantEntityManager): Promise<ReadonlyMap<string, StoredRule>> {
  const rows = await entities.rows(RetentionRuleRow, {}, { limit: ALL_KINDS });
  return new Map(rows.map((row) => [row.kind, row]));
}

/** The rules of all tenants for a kind, by tenant. */
export async function findRulesOf(
  database: Pick<Database, 'system'>,
  kind: string,
): Promise<ReadonlyMap<string, StoredRule>> {
  const rules = new Map<string, StoredRule>();
  const query = { orderBy: { tenantId: 'asc' }, limit: PAGE, disableIdentityMap: true } as const;
  for (let last = ''; ; ) {
    const page = await database.system().find(RetentionRuleRow, { kind, tenantId: { $gt: last } }, query);
    for (const row of page) rules.set(row.tenantId, row);
    if (page.length < PAGE) return rules;
    last = page.at(-1)!.tenantId;
  }
}

/** Stores how many records of a kind there are, by tenant, replacing the previous counts. */
export async function saveSizes(
  database: Pick<Database, 'transaction'>,
  kind: string,
  sizes: ReadonlyMap<string, number>,
  countedAt: Date,
): Promise<void> {
  const rows = [...sizes].map(([tenantId, records]) => ({ tenantId, kind, records, countedAt }));
  await database.transaction(async (em) => {
    await em.nativeDelete(RetentionSizeRow, { kind });
    for (let start = 0; start < rows.length; start += BATCH)
      await em.insertMany(RetentionSizeRow, rows.slice(start, start + BATCH));
  }, RETRY_RACES);
}

/** How many records of each kind there are in all; a kind without any is missing. */
export async function sumsOfSizes(database: Pick<Database, 'system'>): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ readonly kind: string; readonly records: number | string }>`
    select kind, sum(records) as records from retention_sizes group by kind`.execute(
    database.system().getKysely() as Kysely<unknown>,
  );
  return new Map(rows.map(({ kind, records }) => [kind, Number(records)]));
}

/** The largest sizes of a kind, `most` of them. */
export function largestSizes(
  database: Pick<Database, 'system'>,
  kind: string,
  most: number,
): Promise<readonly { readonly tenantId: string; readonly records: number }[]> {
  const query = { orderBy: { records: 'desc' }, limit: most, disableIdentityMap: true } as const;
  return database.system().find(RetentionSizeRow, { kind }, query);
}
