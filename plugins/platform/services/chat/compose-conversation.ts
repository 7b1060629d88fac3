import type { ChatMessage } from '../../../agent-engine/contract.ts';

const INSTRUCTIONS: ReadonlySet<string> = new Set(['system', 'developer']);

/** True for a message that instructs the model instead of talking to it. */
export function isInstruction({ role }: ChatMessage): boolean {
  return INSTRUCTIONS.has(role);
}

/**
 * What the model is to see: the stored history, then the new messages. Instructions hold for the turn that they came with and, until others
 * come, for the turns after it; history never repeats older ones. Pure.
 */
export function composeConversation(
  history: readonly ChatMessage[],
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (history.length === 0) return messages;
  const said = history.filter((message) => !isInstruction(message));
  if (messages.some(isInstruction)) {
    const first = messages.findIndex((message) => !isInstruction(message));
    const leading = first < 0 ? messages.length : first;
    return [...messages.slice(0, leading), ...said, ...messages.slice(leading)];
  }
  const instruction = history.findLast(isInstruction);
  return instruction === undefined ? [...said, ...messages] : [instruction, ...said, ...messages];
}

/**
 * Puts a preamble in front. It is joined with a first instruction, since some servers take one system message alone, and as the first of
 * all. Pure.
 */
export function withPreamble(preamble: string, messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (preamble === '') return messages;
  const [first, ...rest] = messages;
  if (first === undefined || !isInstruction(first))
    return [{ role: 'system', content: preamble }, ...messages];
  if (Array.isArray(first.content)) {
    return [{ ...first, content: [{ type: 'text', text: `${preamble}\n\n` }, ...first.content] }, ...rest];
  }
  return [{ ...first, content: `${preamble}\n\n${first.content ?? ''}` }, ...rest];
}

/** What a client says in this request: the messages behind the last answer. Pure. */
export function newMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

/** The text of a message, its parts joined; media are left out. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text }) => text ?? '').join('\n');
}
