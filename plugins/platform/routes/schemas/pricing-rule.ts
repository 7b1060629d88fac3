import { type FieldError, KernelErrors } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { Prices, PricingRule } from '../../../records/contract.ts';
import { nullable, Timestamp, toTimestamp } from './common.ts';

/** Prices keep nine decimals; a smaller one would be kept as no price at all. */
const SMALLEST = 1e-9;
const Price = Type.Number({
  minimum: 0,
  maximum: 1_000_000,
  description: 'US dollars for 1,000 tokens; nine decimals are kept',
});
const CachePrice = nullable({ ...Price, description: 'Like `input_per_1k`; null: as much as that' });

/** The `{model}` of a path: a provider's model id or an alias, `/` percent-encoded. */
export const ModelParams = Type.Object({
  model: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^[^\\p{Cc}\\p{Cs}]+$',
    patternErrorMessage: 'must not hold control characters',
  }),
});

/** The body that sets the prices of a model. A rule that was read can be sent back. */
export const ReplacePricingRule = Type.Object({
  input_per_1k: Price,
  output_per_1k: Price,
  cache_read_per_1k: Type.Optional(CachePrice),
  cache_write_per_1k: Type.Optional(CachePrice),
  currency: Type.Optional(Type.Literal('USD')),
});

/** A pricing rule as it is told (decisions 1.8). */
export const PricingRuleSchema = Type.Object({
  model: Type.String(),
  input_per_1k: Price,
  output_per_1k: Price,
  cache_read_per_1k: CachePrice,
  cache_write_per_1k: CachePrice,
  currency: Type.Literal('USD'),
  updated_at: Timestamp,
});

/** The prices in a body. Throws 400 naming those that are too small to be kept. */
export function toPrices(body: Static<typeof ReplacePricingRule>): Prices {
  const { input_per_1k, output_per_1k, cache_read_per_1k = null, cache_write_per_1k = null } = body;
  const given = { input_per_1k, output_per_1k, cache_read_per_1k, cache_write_per_1k };
  const errors: FieldError[] = Object.entries(given)
    .filter(([, price]) => price !== null && price > 0 && price < SMALLEST)
    .map(([name]) => ({ pointer: `/body/${name}`, message: 'must be 0, or 0.000000001 or more' }));
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
  return {
    inputPer1k: input_per_1k,
    outputPer1k: output_per_1k,
    cacheReadPer1k: cache_read_per_1k,
    cacheWritePer1k: cache_write_per_1k,
  };
}

/** A rule on the wire. */
export function toPricingRule(rule: PricingRule): Static<typeof PricingRuleSchema> {
  return {
    model: rule.model,
    input_per_1k: rule.inputPer1k,
    output_per_1k: rule.outputPer1k,
    cache_read_per_1k: rule.cacheReadPer1k,
    cache_write_per_1k: rule.cacheWritePer1k,
    currency: 'USD',
    updated_at: toTimestamp(rule.updatedAt),
  };
}
