import type { ChatMessage, ChatRequest, ModelInfo, ModelUse, Usage } from '../../contract.ts';
import { estimateMessageTokens, estimateTokens } from '../tokens/estimate-tokens.ts';

/**
 * What a call consumed, as it is metered. Where the provider did not count, the estimate does; it is not made otherwise. Parts
 * of the input that were cached never exceed the input, and what is no count is 0: providers are not trusted with the bill.
 *
 * @param alias the alias that was asked
 * @param info the model that answered (`ModelCallContext.answeredBy`)
 * @param usage what the provider counted; some send an empty one
 */
export function toModelUse(
  alias: string,
  info: ModelInfo,
  usage: Usage | null | undefined,
  estimate: () => { readonly inputTokens: number; readonly outputTokens: number },
): ModelUse {
  const common = { model: alias, provider: info.provider, providerModel: info.model };
  if (!isCounted(usage)) {
    const { inputTokens, outputTokens } = estimate();
    return {
      ...common,
      inputTokens: toCount(inputTokens),
      outputTokens: toCount(outputTokens),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      isEstimated: true,
    };
  }
  const inputTokens = toCount(usage.prompt_tokens);
  const cacheReadTokens = Math.min(inputTokens, toCount(usage.prompt_tokens_details?.cached_tokens));
  const written = toCount(usage.prompt_tokens_details?.cache_write_tokens);
  return {
    ...common,
    inputTokens,
    outputTokens: toCount(usage.completion_tokens),
    cacheReadTokens,
    cacheWriteTokens: Math.min(inputTokens - cacheReadTokens, written),
    isEstimated: false,
  };
}

function isCounted(usage: Usage | null | undefined): usage is Usage {
  return toCount(usage?.prompt_tokens) + toCount(usage?.completion_tokens) > 0;
}

/** Usage records hold 32-bit integers; no call comes near that. */
const MOST_TOKENS = 2 ** 31 - 1;

function toCount(value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  return Math.min(MOST_TOKENS, Math.round(value));
}

/**
 * What a call consumed, roughly, for providers that do not count and for answers that were broken off. Thoughts count as output.
 *
 * @param answer as much of the answer as there is; undefined where nothing came
 */
export function estimateUse(
  { messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>,
  answer: ChatMessage | undefined,
): { readonly inputTokens: number; readonly outputTokens: number } {
  let inputTokens = tools === undefined ? 0 : estimateTokens(JSON.stringify(tools));
  for (const message of messages) inputTokens += estimateMessageTokens(message);
  if (answer === undefined) return { inputTokens, outputTokens: 0 };
  const { reasoning_content: thoughts } = answer;
  const thought = typeof thoughts === 'string' ? estimateTokens(thoughts) : 0;
  return { inputTokens, outputTokens: estimateMessageTokens(answer) + thought };
}
