import {
  type ChatMessage,
  type ContentPart,
  type Guard,
  SessionErrors,
  type ToolCall,
} from '../../../agent-engine/contract.ts';

/** Characters of media inside a message that are kept; larger ones are named only. */
const MAX_MEDIA = 256 * 1024;
/** Characters of text that one turn may keep. */
export const MAX_KEPT = 8 * 1024 * 1024;
/** Bytes that they may have in a statement. MariaDB takes 16 MiB at one time, and the answer comes on top. */
const MAX_STATEMENT = 13 * 1024 * 1024;
/** So many characters cannot exceed it, whatever they are: no other grows as much as U+0000, which becomes seven bytes. */
const ALWAYS_FIT = 1024 * 1024;

/**
 * The messages of a client as they are kept: without credentials, and without large media, in whose place stands a note.
 * Throws `session.turn-too-large`.
 */
export function keptMessages(messages: readonly ChatMessage[], guard: Guard): readonly ChatMessage[] {
  let size = 0;
  const redact = (text: string) => {
    size += text.length;
    if (size > MAX_KEPT) throw SessionErrors.turnTooLarge();
    return guard.redact(text);
  };
  const kept = messages.map((message) => keep(message, redact));
  if (size > ALWAYS_FIT && statementBytes(kept) > MAX_STATEMENT) throw SessionErrors.turnTooLarge();
  return kept;
}

/** What messages are in a statement: JSON, whose quotes and backslashes are escaped once more. */
function statementBytes(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (bytes, message) => bytes + Buffer.byteLength(JSON.stringify(JSON.stringify(message))),
    0,
  );
}

function keep(message: ChatMessage, redact: (text: string) => string): ChatMessage {
  const { role, content, name, tool_call_id, tool_calls } = message;
  return {
    role,
    content: typeof content === 'string' ? redact(content) : content?.map((part) => keepPart(part, redact)),
    ...(typeof name === 'string' && { name }),
    ...(typeof tool_call_id === 'string' && { tool_call_id }),
    ...(tool_calls && {
      tool_calls: tool_calls.map((call) => keepCall(call, redact)),
    }),
  };
}

function keepCall(call: ToolCall, redact: (text: string) => string): ToolCall {
  const called: ToolCall['function'] | undefined = call.function;
  // A tool of a provider's own is called in a form of its own.
  if (called === undefined) return JSON.parse(redact(JSON.stringify(call)));
  return { ...call, function: { name: called.name, arguments: redact(called.arguments) } };
}

function keepPart(part: ContentPart, redact: (text: string) => string): ContentPart {
  if (part.type === 'text') return { type: 'text', text: redact(part.text ?? '') };
  const json = JSON.stringify(part);
  if (json.length <= MAX_MEDIA) return JSON.parse(redact(json));
  return { type: 'text', text: `[${part.type} of ${json.length} characters, not kept]` };
}
