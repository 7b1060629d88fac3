import {
  type ChatMessage,
  type ContentPart,
  SessionErrors,
  type ToolCall,
} from '../../../records/contract.ts';
import { type Guard, MAX_KEPT, redactValue } from '../../contract.ts';

/** Characters of media inside a message that are kept; larger ones are only named. */
const MAX_MEDIA = 256 * 1024;
/** Bytes that they may have in a statement. MariaDB takes 16 MiB at one time, and the answer comes on top. */
const MAX_STATEMENT = 13 * 1024 * 1024;
/** So many characters of any kind cannot exceed it: no other grows as much as U+0000, which becomes seven bytes. */
const ALWAYS_FIT = 1024 * 1024;

/** What messages are in a statement: JSON, whose quotes and backslashes are escaped once more. */
function statementBytes(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (bytes, message) => bytes + Buffer.byteLength(JSON.stringify(JSON.stringify(message))),
    0,
  );
}

/**
 * The messages of a client as they are kept: without credentials, and without large media, in whose place stands a
 * note. Throws `session.turn-too-large`.
 */
export function keptMessages(messages: readonly ChatMessage[], guard: Guard): readonly ChatMessage[] {
  let size = 0;
  function count(characters: number): void {
    size += characters;
    if (size > MAX_KEPT) throw SessionErrors.turnTooLarge();
  }

  function keepText(text: string): string {
    count(text.length);
    return guard.redact(text);
  }

  function keepValue<T>(value: T): T {
    count(JSON.stringify(value).length);
    return redactValue(value, guard) as T;
  }

  /** Without credentials, but for `extra_content`, which its provider wants back as it came. */
  function keepCall(call: ToolCall): ToolCall {
    // A tool of a provider's own is called in a form of its own.
    const { function: called, extra_content: extra }: Partial<ToolCall> = call;
    const kept = keepValue(call);
    return {
      ...kept,
      ...(called && { function: { ...kept.function, arguments: guard.redactJsonText(called.arguments) } }),
      ...(extra && { extra_content: extra }),
    };
  }

  function keepPart(part: ContentPart): ContentPart {
    if (part.type === 'text') return { type: 'text', text: keepText(part.text ?? '') };
    const { length } = JSON.stringify(part);
    if (length <= MAX_MEDIA) return keepValue(part);
    return { type: 'text', text: `[${part.type} of ${length} characters, not kept]` };
  }

  const kept = messages.map(({ role, content, name, tool_call_id, tool_calls }) => ({
    role,
    content: typeof content === 'string' ? keepText(content) : content?.map(keepPart),
    ...(typeof name === 'string' && { name: keepText(name) }),
    ...(typeof tool_call_id === 'string' && { tool_call_id: keepText(tool_call_id) }),
    ...(tool_calls && { tool_calls: tool_calls.map(keepCall) }),
  }));
  if (size > ALWAYS_FIT && statementBytes(kept) > MAX_STATEMENT) throw SessionErrors.turnTooLarge();
  return kept;
}
