import { type ChatMessage, ModelErrors, THOUGHTS } from '../../contract.ts';

/*
 * Some servers of models that think (DeepSeek, Kimi) want the thoughts of earlier answers back, as `reasoning_content`,
 * once a conversation has calls of tools, and refuse it without them; others refuse every message with such a member.
 * Which kind a server is, its first refusal says.
 */

/** The member in which these servers give thoughts, and want them back. */
const MEMBER = 'reasoning_content';

/**
 * True of the refusal of a server that wants thoughts back which these messages, sent as they are, did not bring. Pure.
 */
export function wantsThoughts(error: unknown, messages: readonly ChatMessage[]): boolean {
  if (!ModelErrors.rejected.is(error)) return false;
  return (
    error.detail.includes(MEMBER) && messages.some((message) => isAnswer(message) && !(MEMBER in message))
  );
}

/**
 * Messages as a server of OpenAI's format gets them. Where it wants thoughts, each answer brings them: its own
 * (`keptThoughts`), or none. Pure.
 */
export function withThoughts(messages: readonly ChatMessage[], areWanted: boolean): readonly ChatMessage[] {
  if (
    !messages.some((message) => isAnswer(message) && (areWanted || message.reasoning_details !== undefined))
  )
    return messages;
  return messages.map((message) => {
    if (!isAnswer(message)) return message;
    const { reasoning_details: details, ...rest } = message;
    const thoughts = Array.isArray(details) ? details.find(isThoughts) : undefined;
    const others = thoughts === undefined ? details : details?.filter((detail) => !isThoughts(detail));
    return {
      ...(areWanted && { [MEMBER]: thoughts?.text ?? '' }),
      ...rest,
      ...(others !== undefined &&
        (thoughts === undefined || others.length > 0) && { reasoning_details: others }),
    };
  });
}

function isAnswer({ role }: ChatMessage): boolean {
  return role === 'assistant';
}

function isThoughts(detail: unknown): detail is { readonly text: string } {
  const { type, text } = (detail ?? {}) as Record<string, unknown>;
  return type === THOUGHTS && typeof text === 'string';
}
