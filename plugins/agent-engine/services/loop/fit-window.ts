import { estimateMessageTokens, estimateTokens } from '../../../records/contract.ts';
import type { ChatMessage } from '../../contract.ts';

/** Characters that stay of an output that is shortened. */
const STAYS = 400;

/**
 * The conversation within `maxTokens` (estimated) as far as shortening outputs of tools makes it so: the oldest first, each with a note, those of
 * the last step never. Nothing else is touched, and no message left out: when it is still too long, the provider says so. Pure.
 */
export function fitWindow(messages: readonly ChatMessage[], maxTokens: number): readonly ChatMessage[] {
  let excess = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0) - maxTokens;
  if (excess <= 0) return messages;
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.map((message, index) => {
    if (excess <= 0 || index > lastAnswer || message.role !== 'tool') return message;
    const { content } = message;
    if (typeof content !== 'string' || content.length <= 2 * STAYS) return message;
    const note = `\n[shortened: ${content.length} characters were here; call the tool again where you need them]`;
    const shorter = content.slice(0, STAYS).toWellFormed() + note;
    excess -= estimateTokens(content) - estimateTokens(shorter);
    return { ...message, content: shorter };
  });
}
