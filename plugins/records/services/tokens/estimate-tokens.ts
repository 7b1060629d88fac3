import type { ChatMessage, ToolCall } from '../../../agent-engine/contract.ts';

/** What a message costs beside its text: role and separators. */
const PER_MESSAGE = 4;
/** An image or another part that is no text, as providers count a middle-sized one. */
const PER_PART = 765;

/**
 * How many tokens a text has, roughly, without any model's vocabulary: four ASCII characters a token, one token for each two letters of other
 * alphabets, one for each ideograph or symbol. Within about a quarter of the truth for prose and code; marked as an estimate wherever it
 * is shown. Pure.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) quarters += 1;
    else if (code < 0x2e80) quarters += 2;
    // Half of a surrogate pair, or an ideograph of its own.
    else quarters += code >= 0xd800 && code <= 0xdfff ? 2 : 4;
  }
  return Math.ceil(quarters / 4);
}

/** The same for a message: its text, its tool calls, and what separates it from the next. */
export function estimateMessageTokens(message: ChatMessage): number {
  let tokens = PER_MESSAGE;
  const { content } = message;
  if (typeof content === 'string') tokens += estimateTokens(content);
  else
    for (const part of content ?? [])
      tokens += part.text === undefined ? PER_PART : estimateTokens(part.text);
  // Clients write null for none, and tools of a provider's own are called without a function.
  for (const call of message.tool_calls ?? []) {
    const called: ToolCall['function'] | undefined = call.function;
    tokens += PER_MESSAGE;
    if (called === undefined) tokens += estimateTokens(JSON.stringify(call));
    else tokens += estimateTokens(called.name) + estimateTokens(called.arguments);
  }
  return tokens;
}
