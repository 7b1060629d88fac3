import type { FieldError } from 'agent-gateway';
import type { ChatMessage } from '../../../agent-engine/contract.ts';

/** Problems that are told at most: a conversation of thousands of messages can have as many. */
const MAX_TOLD = 20;

/** An assistant may have called tools instead; the result of an old-style function may be nothing. */
const MAY_BE_SILENT: ReadonlySet<string> = new Set(['assistant', 'function']);

/**
 * What is wrong with well-formed messages, for every provider: a tool's result that belongs to no call, a call of no function, a
 * message without content, a text part without text.
 */
export function conversationProblems(messages: readonly ChatMessage[]): readonly FieldError[] {
  const problems: FieldError[] = [];
  for (const [index, message] of messages.entries()) {
    if (problems.length >= MAX_TOLD) break;
    collectProblems(message, `/body/messages/${index}`, problems);
  }
  return problems;
}

function collectProblems(message: ChatMessage, pointer: string, problems: FieldError[]): void {
  const { role, content } = message;
  if (role === 'tool' && typeof message.tool_call_id !== 'string') {
    problems.push({ pointer: `${pointer}/tool_call_id`, message: 'is required for role tool' });
  }
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    // A type of its own says what is called in its place, to the provider that knows it.
    if (call.function !== undefined || (call.type ?? 'function') !== 'function') continue;
    problems.push({ pointer: `${pointer}/tool_calls/${index}/function`, message: 'is required' });
    if (problems.length >= MAX_TOLD) return;
  }
  if (content === undefined || content === null) {
    if (!MAY_BE_SILENT.has(role)) {
      problems.push({ pointer: `${pointer}/content`, message: `is required for role ${role}` });
    }
    return;
  }
  if (typeof content === 'string') return;
  const part = content.findIndex(({ type, text }) => type === 'text' && typeof text !== 'string');
  if (part >= 0) {
    problems.push({ pointer: `${pointer}/content/${part}/text`, message: 'is required for type text' });
  }
}
