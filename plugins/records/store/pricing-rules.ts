import type { InferEntity } from '@mikro-orm/core';
import { column, type Database, defineEntity, isUniqueViolation, type Page } from 'agent-gateway';

/** Characters of a model's name; the migration `003-usage` has the same. */
export const MAX_PRICED_MODEL = 200;

/**
 * The prices of a model, shared by all tenants: billionths of a dollar for a thousand tokens. Integers, because SQLite
 * keeps no decimals.
 */
export const PricingRuleRow = defineEntity({
  name: 'PricingRuleRow',
  tableName: 'pricing_rules',
  properties: {
    model: column.string(MAX_PRICED_MODEL).primary(),
    inputNanos: column.bigint(),
    outputNanos: column.bigint(),
    cacheReadNanos: column.bigint().strictNullable(),
    cacheWriteNanos: column.bigint().strictNullable(),
    updatedAt: column.time(),
  },
});

/** A row of `pricing_rules`. */
export type PricingRow = InferEntity<typeof PricingRuleRow>;

type System = Pick<Database, 'system'>;

/** A page of the rules, the latest changed first, and the number of all. */
export function findRules(database: System, { limit, offset }: Page): Promise<[PricingRow[], number]> {
  const orderBy = { updatedAt: 'desc', model: 'asc' } as const;
  return database.system().findAndCount(PricingRuleRow, {}, { orderBy, limit, offset });
}

/** Writes a rule, over the one of its model. False where there are `most` rules already, and none of this model. */
export async function saveRule(
  database: Pick<Database, 'transaction'>,
  rule: PricingRow,
  most: number,
): Promise<boolean> {
  const { model, ...prices } = rule;
  const save = () =>
    database.transaction(async (em) => {
      if ((await em.nativeUpdate(PricingRuleRow, { model }, prices)) > 0) return true;
      if ((await em.count(PricingRuleRow)) >= most) return false;
      await em.insert(PricingRuleRow, rule);
      return true;
    });
  try {
    return await save();
  } catch (error) {
    // Another caller inserted the rule in between; now there is one to update.
    if (!isUniqueViolation(error)) throw error;
    return save();
  }
}

/** False where the model has no rule. */
export async function deleteRule(database: System, model: string): Promise<boolean> {
  return (await database.system().nativeDelete(PricingRuleRow, { model })) > 0;
}
