import type { MeasuredCall, ModelUse, Usage } from '../../contract.ts';
import { estimateUse, toModelUse } from '../models/model-use.ts';

/** Usage as a client is told it; marked where a part of it is an estimate. */
type ToldUsage = Usage & { readonly estimated?: true };

/** What one call consumed, and what its client is told: what the provider counted, untouched, or the estimate. Pure. */
export function measure(call: MeasuredCall): { readonly use: ModelUse; readonly usage: ToldUsage } {
  const { alias, answeredBy, request, answer } = call;
  const use = toModelUse(alias, answeredBy, call.usage, () => estimateUse(request, answer));
  return { use, usage: use.isEstimated || !call.usage ? total([use]) : call.usage };
}

/** Several uses as one usage. Details are told where there are any. Pure. */
export function total(uses: readonly ModelUse[]): ToldUsage {
  const sum = (of: (use: ModelUse) => number) => uses.reduce((tokens, use) => tokens + of(use), 0);
  const promptTokens = sum((use) => use.inputTokens);
  const completionTokens = sum((use) => use.outputTokens);
  const cacheRead = sum((use) => use.cacheReadTokens);
  const cacheWrite = sum((use) => use.cacheWriteTokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cacheRead + cacheWrite > 0 && {
      prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    }),
    ...(uses.some((use) => use.isEstimated) && { estimated: true }),
  };
}
