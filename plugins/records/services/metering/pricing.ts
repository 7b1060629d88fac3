import { type Clock, createSharedCache, type Database, type KernelServices } from 'agent-gateway';
import { PricingChanged, PricingErrors, type PricingRule, type PricingRules } from '../../contract.ts';
import { deleteRule, findRules, type PricingRow, saveRule } from '../../store/pricing-rules.ts';
import { type NanoPrices, nanosOf, priceOf } from './cost.ts';

/** Rules that are kept at most: all of them are in memory. */
export const MAX_PRICING_RULES = 1000;
const MAX_AGE_MS = 1000;
/** As long as a statement may take, so that a slow database does not lose a turn that was already answered. */
const LOAD_MS = 30_000;
const EVERYTHING = 'all';

/** The prices in force, by the name of the model. */
export type PriceBook = ReadonlyMap<string, NanoPrices>;

/** The pricing rules, what metering prices with, and what the plugin wires to them. */
export interface Pricing extends PricingRules {
  /** The prices in force, at most a second old; without a promise when they are at hand. */
  prices(): PriceBook | Promise<PriceBook>;
  /** Another replica changed a rule, or its changes may have been missed. */
  forget(): void;
}

/** Makes the service (decisions 1.8). */
export function createPricing(options: {
  readonly database: Pick<Database, 'system' | 'transaction'>;
  readonly clock: Clock;
  readonly events: Pick<KernelServices['events'], 'emit'>;
}): Pricing {
  const { database, clock, events } = options;
  const recent = createSharedCache<PriceBook>({
    load: async () => {
      const [rows] = await findRules(database, { limit: MAX_PRICING_RULES, offset: 0 });
      return new Map(rows.map((row) => [row.model, row]));
    },
    clock,
    maxAge: MAX_AGE_MS,
    deadline: LOAD_MS,
    maxEntries: 1,
    weigh: (book) => book.size,
  });

  /** Also after a failure: a write whose answer was lost may have happened. */
  async function changing<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      recent.clear();
      events.emit(PricingChanged, {});
    }
  }

  return {
    prices: () => recent.get(EVERYTHING),
    forget: recent.clear,
    async list(page) {
      const [rows, total] = await findRules(database, page);
      return { rules: rows.map(toRule), total };
    },
    async replace(model, { inputPer1k, outputPer1k, cacheReadPer1k, cacheWritePer1k }) {
      const row: PricingRow = {
        model,
        inputNanos: nanosOf(inputPer1k),
        outputNanos: nanosOf(outputPer1k),
        cacheReadNanos: cacheReadPer1k === null ? null : nanosOf(cacheReadPer1k),
        cacheWriteNanos: cacheWritePer1k === null ? null : nanosOf(cacheWritePer1k),
        updatedAt: new Date(clock.now()),
      };
      if (!(await changing(saveRule(database, row, MAX_PRICING_RULES)))) {
        throw PricingErrors.limit(`There may be ${MAX_PRICING_RULES} pricing rules at most.`);
      }
      return toRule(row);
    },
    async remove(model) {
      if (!(await changing(deleteRule(database, model)))) throw PricingErrors.notFound();
    },
  };
}

function toRule(row: PricingRow): PricingRule {
  return {
    model: row.model,
    inputPer1k: priceOf(row.inputNanos),
    outputPer1k: priceOf(row.outputNanos),
    cacheReadPer1k: row.cacheReadNanos === null ? null : priceOf(row.cacheReadNanos),
    cacheWritePer1k: row.cacheWriteNanos === null ? null : priceOf(row.cacheWriteNanos),
    updatedAt: row.updatedAt,
  };
}
