import type { JSONObject, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { ChatMessage } from '../../../contract.ts';

/*
 * What a provider wants back with the next request and OpenAI's format has no place for: the signatures of thoughts. They
 * travel in extra members of the assistant's message, as Google's and OpenRouter's OpenAI-compatible servers have it:
 * `extra_content` of a tool call, and `reasoning_details` of a message. Whoever keeps messages as they came, keeps them;
 * without them a provider only forgets what it had thought.
 */

/** One block of thought of an answer, with the signature that makes it acceptable to its provider again. */
export interface ReasoningDetail {
  readonly text: string;
  readonly provider_metadata: SharedV4ProviderMetadata;
}

/** The blocks of thought that a message brings back. What is malformed is left out: clients may write anything. */
export function reasoningDetailsOf({ reasoning_details }: ChatMessage): readonly ReasoningDetail[] {
  if (!Array.isArray(reasoning_details)) return [];
  return reasoning_details.flatMap((detail: unknown) => {
    const { text, provider_metadata } = (detail ?? {}) as Record<string, unknown>;
    const metadata = toMetadata(provider_metadata);
    return typeof text === 'string' && metadata !== undefined ? [{ text, provider_metadata: metadata }] : [];
  });
}

/** A value as metadata by provider, undefined where it is none. */
export function toMetadata(value: unknown): SharedV4ProviderMetadata | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).filter((entry): entry is [string, JSONObject] => isObject(entry[1]));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
