import { type FieldError, isJsonObject, parsedJson, type UnreadBody } from 'agent-gateway';
import type { ChatMessage, ContentPart } from '../../../agent-engine/contract.ts';

/** A message as the SDK sends it (`EnterMessage`). */
export interface EnteredMessage {
  readonly role: 'user' | 'assistant';
  readonly content?: string | undefined;
  /** Default `text`, also where it is empty; `object_string` is the JSON text of parts. */
  readonly content_type?: 'text' | 'object_string' | '' | undefined;
}

/** Messages of a body at most. */
export const MAX_ENTERED = 100;

/** What no schema says of the messages of a body, which may be anything: texts that have to be the JSON of parts. */
export function enteredProblems(entered: unknown, pointer: string): readonly FieldError[] {
  return membersIn(entered).flatMap(({ content = '', content_type }, index) => {
    if (content_type !== 'object_string' || typeof content !== 'string' || partsOf(content)) return [];
    const message = 'must be the JSON text of a list of {type: "text", text} and {type: "image", file_url}';
    return [{ pointer: `${pointer}/${index}/content`, message }];
  });
}

/** The messages of a list, each in its place; of anything else, and of a list that is too long, none. */
function membersIn(entered: unknown): readonly UnreadBody[] {
  if (!Array.isArray(entered) || entered.length > MAX_ENTERED) return [];
  return entered.map((message) => (isJsonObject(message) ? message : {}));
}

/** Converts messages without problems to those for a model. Pure. */
export function readMessages(entered: readonly EnteredMessage[]): readonly ChatMessage[] {
  return entered.map(({ role, content = '', content_type }) => ({
    role,
    content: content_type === 'object_string' ? (partsOf(content) ?? []) : content,
  }));
}

function partsOf(text: string): readonly ContentPart[] | undefined {
  const given = parsedJson(text);
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
