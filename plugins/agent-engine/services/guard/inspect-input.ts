import { type ChatMessage, type Finding, GuardErrors, type TextOrigin } from '../../contract.ts';

const ORIGINS = new Map<string, TextOrigin>([
  ['user', 'user'],
  ['tool', 'tool'],
]);

/** A check of one text; a promise for a long one. */
export type CheckInput = (
  text: string,
  origin: TextOrigin,
) => Finding | undefined | Promise<Finding | undefined>;

/**
 * Checks what is new in a conversation: the messages of users and tools behind the last answer. Rejects with `guard.input-blocked`, naming the
 * rule, at the first finding; what was said before passed the check when it was new.
 */
export async function inspectInput(check: CheckInput, messages: readonly ChatMessage[]): Promise<void> {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const { role, content } of messages.slice(last + 1)) {
    const origin = ORIGINS.get(role);
    if (origin === undefined) continue;
    for (const text of textsOf(content)) {
      const found = check(text, origin);
      const finding = found instanceof Promise ? await found : found;
      if (finding === undefined) continue;
      throw GuardErrors.inputBlocked(`The rule "${finding.rule}" refused the input: ${finding.reason}.`, {
        param: 'messages',
      });
    }
  }
}

function textsOf(content: ChatMessage['content']): readonly string[] {
  if (typeof content === 'string') return [content];
  return (content ?? []).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}
