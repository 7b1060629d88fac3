import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { Usage } from '../../../contract.ts';

/** A provider's counts in OpenAI's form; undefined where it did not count. */
export function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  const prompt_tokens = inputTokens.total ?? 0;
  const completion_tokens = outputTokens.total ?? 0;
  const { cacheRead, cacheWrite } = inputTokens;
  const { reasoning } = outputTokens;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...((cacheRead || cacheWrite) && {
      prompt_tokens_details: {
        cached_tokens: cacheRead ?? 0,
        ...(cacheWrite && { cache_write_tokens: cacheWrite }),
      },
    }),
    ...(reasoning && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
