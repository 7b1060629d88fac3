import { dollarsOf, type ModelUse, picosOf } from '../../contract.ts';

/** Billionths of a dollar in a dollar: how fine prices are. */
const NANOS = 1_000_000_000;
/** Trillionths of a dollar in a millionth. */
const PICOS_OF_MICRO = 1_000_000n;

/** Prices of a model in billionths of a dollar for a thousand tokens. Null: like other input tokens. */
export interface NanoPrices {
  readonly inputNanos: number;
  readonly outputNanos: number;
  readonly cacheReadNanos: number | null;
  readonly cacheWriteNanos: number | null;
}

type Tokens = Pick<ModelUse, 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>;

/**
 * What tokens cost: US dollars as exact decimal text. The cached parts of the input are priced apart from the rest of
 * it. So many tokens at billionths for a thousand of them are trillionths: nothing is ever rounded.
 */
export function costOf(tokens: Tokens, prices: NanoPrices): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokens;
  const { inputNanos, outputNanos, cacheReadNanos, cacheWriteNanos } = prices;
  const uncached = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  return dollarsOf(
    times(uncached, inputNanos) +
      times(cacheReadTokens, cacheReadNanos ?? inputNanos) +
      times(cacheWriteTokens, cacheWriteNanos ?? inputNanos) +
      times(outputTokens, outputNanos),
  );
}

function times(tokens: number, nanos: number): bigint {
  return BigInt(tokens) * BigInt(nanos);
}

/** A cost in two integers that databases add exactly: millionths of a dollar, and trillionths that are left over. */
interface CostParts {
  readonly micros: number;
  readonly picos: number;
}

/**
 * A price in billionths of a dollar. Exact for numbers of at most nine decimals up to 1,000,000; others are rounded.
 */
export function nanosOf(price: number): number {
  return Math.round(price * NANOS);
}

/** The number of dollars that is nearest to so many billionths; it prints as the decimal that it was made of. */
export function priceOf(nanos: number): number {
  return nanos / NANOS;
}

/** Decimal text of a cost, as `dollarsOf` writes it, in parts. Exact below nine billion dollars. */
export function partsOf(dollars: string): CostParts {
  const picos = picosOf(dollars);
  return { micros: Number(picos / PICOS_OF_MICRO), picos: Number(picos % PICOS_OF_MICRO) };
}

/** Parts, of one cost or added up, as decimal text. */
export function dollarsOfParts({ micros, picos }: CostParts): string {
  return dollarsOf(BigInt(micros) * PICOS_OF_MICRO + BigInt(picos));
}
