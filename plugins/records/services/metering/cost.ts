import type { ModelUse } from '../../contract.ts';
import { dollarsOf } from './dollars.ts';

/** Prices of a model in billionths of a dollar for a thousand tokens. Null: like other input tokens. */
export interface NanoPrices {
  readonly inputNanos: number;
  readonly outputNanos: number;
  readonly cacheReadNanos: number | null;
  readonly cacheWriteNanos: number | null;
}

type Tokens = Pick<ModelUse, 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>;

/**
 * What tokens cost: US dollars as exact decimal text. The cached parts of the input are priced apart from the rest of it. So many
 * tokens at billionths for a thousand of them are trillionths: nothing is ever rounded.
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
