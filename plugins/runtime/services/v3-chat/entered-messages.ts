import { type FieldError, KernelErrors } from 'agent-gateway';
import type { ChatMessage, ContentPart } from '../../../agent-engine/contract.ts';

/** A message as the SDK sends it (`EnterMessage`). */
export interface EnteredMessage {
  readonly role: 'user' | 'assistant';
  readonly content?: string | undefined;
  /** Default `text`, also where it is empty; `object_string` is the JSON text of parts. */
  readonly content_type?: 'text' | 'object_string' | '' | undefined;
}

/**
 * Converts the messages of a body to those for a model. Pure.
 *
 * @throws request.invalid for invalid parts
 */
export function readMessages(entered: readonly EnteredMessage[], pointer: string): readonly ChatMessage[] {
  const errors: FieldError[] = [];
  const messages = entered.map(({ role, content = '', content_type }, index): ChatMessage => {
    if (content_type !== 'object_string') return { role, content };
    const parts = partsOf(content);
    if (parts === undefined) {
      const message = 'must be the JSON text of a list of {type: "text", text} and {type: "image", file_url}';
      errors.push({ pointer: `${pointer}/${index}/content`, message });
    }
    return { role, content: parts ?? [] };
  });
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
  return messages;
}

function partsOf(text: string): readonly ContentPart[] | undefined {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(given)) return undefined;
  const parts = given.map(partOf);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function partOf(given: Readonly<Record<string, unknown>> | null): ContentPart | undefined {
  const { type, text, file_url: url } = given ?? {};
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'image' && typeof url === 'string') return { type: 'image_url', image_url: { url } };
  return undefined;
}
