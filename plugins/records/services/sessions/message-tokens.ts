import { type ChatMessage, estimateMessageTokens, type PricedUse } from '../../contract.ts';

/** The tokens of each message: as the provider counted the answer of a turn with one model call, else estimated. Pure. */
export function messageTokens(
  messages: readonly ChatMessage[],
  uses: readonly Pick<PricedUse, 'outputTokens'>[],
): readonly number[] {
  const [use] = uses;
  return messages.map((message, index) => {
    const isAnswer = index === messages.length - 1 && message.role === 'assistant';
    return isAnswer && use !== undefined && uses.length === 1
      ? use.outputTokens
      : estimateMessageTokens(message);
  });
}
