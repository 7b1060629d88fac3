import type { ChatMessage, ChatRequest } from '../../../agent-engine/contract.ts';
import { estimateMessageTokens, estimateTokens } from '../tokens/estimate-tokens.ts';

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
