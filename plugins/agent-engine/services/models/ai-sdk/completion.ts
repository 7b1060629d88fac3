import type {
  JSONObject,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { isJsonObject } from 'agent-gateway';
import type { ChatCompletion, ChatMessage, FinishReason, ToolCall, Usage } from '../../../contract.ts';
import { createCallIds } from '../call-ids.ts';
import { countedUsage } from '../openai-answer.ts';
import { malformed } from '../provider-errors.ts';

/** What every answer says of itself. */
export interface AnswerHead {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
}

/**
 * A whole answer in OpenAI's format. Thoughts are in `reasoning_content`. What tools of the provider's own did is left
 * out, and so are sources and files, for which the format has no place. Throws `model.upstream` for an answer that was
 * not finished.
 *
 * @param newId makes an id for a call that has none, or that has the id of another call
 */
export function toCompletion(
  result: LanguageModelV4GenerateResult,
  head: AnswerHead,
  newId: () => string,
): ChatCompletion {
  const finish_reason = toFinishReason(result.finishReason);
  const texts: string[] = [];
  const thoughts: string[] = [];
  const details: ReasoningDetail[] = [];
  const calls: ToolCall[] = [];
  const idOf = createCallIds(newId);
  for (const part of result.content) {
    if (part.type === 'text') texts.push(part.text);
    if (part.type === 'reasoning') {
      thoughts.push(part.text);
      if (part.providerMetadata) details.push({ text: part.text, provider_metadata: part.providerMetadata });
    }
    if (part.type === 'tool-call' && !part.providerExecuted) {
      calls.push({
        id: idOf(part.toolCallId),
        type: 'function',
        function: { name: part.toolName, arguments: part.input },
        ...withExtra(part.providerMetadata),
      });
    }
  }
  const text = texts.join('');
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const usage = toUsage(result.usage);
  return {
    id: result.response?.id ?? head.id,
    object: 'chat.completion',
    created: head.created,
    model: result.response?.modelId ?? head.model,
    choices: [{ index: 0, message, finish_reason }],
    ...(usage && { usage }),
  };
}

/**
 * Why the model stopped, in OpenAI's words. Throws `model.upstream` for an answer that the provider did not finish:
 * none is ever made up.
 */
export function toFinishReason({ unified, raw }: LanguageModelV4FinishReason): FinishReason {
  switch (unified) {
    case 'stop':
    case 'length':
      return unified;
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    case 'other':
      if (raw !== undefined) return 'stop';
      throw malformed('the answer ended without a finish reason');
    case 'error':
      throw malformed('the model could not finish its answer');
    default:
      throw malformed('the answer ended without a finish reason');
  }
}

/** A provider's counts in OpenAI's form; undefined where it did not count, or not validly. */
export function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  const prompt_tokens = inputTokens.total ?? 0;
  const completion_tokens = outputTokens.total ?? 0;
  const { cacheRead, cacheWrite } = inputTokens;
  const { reasoning } = outputTokens;
  const usage = {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...((cacheRead || cacheWrite) && {
      prompt_tokens_details: {
        cached_tokens: cacheRead ?? 0,
        ...(cacheWrite && { cache_write_tokens: cacheWrite }),
      },
    }),
    ...(reasoning && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
  return countedUsage(usage) ?? undefined;
}

/*
 * What a provider wants back with the next request and OpenAI's format has no place for: the signatures of thoughts.
 * They travel in extra members of the assistant's message, as Google's and OpenRouter's OpenAI-compatible servers have
 * it: `extra_content` of a tool call, and `reasoning_details` of a message. A client that stores messages unchanged
 * keeps them; without them a provider only forgets what it had thought.
 */

/**
 * The member of a call that brings its provider's metadata. Google's signature has the name of its own server there.
 */
export function withExtra(metadata: SharedV4ProviderMetadata | undefined): Pick<ToolCall, 'extra_content'> {
  if (metadata === undefined) return {};
  const { thoughtSignature, ...google } = metadata.google ?? {};
  if (thoughtSignature === undefined) return { extra_content: metadata };
  return { extra_content: { ...metadata, google: { ...google, thought_signature: thoughtSignature } } };
}

/** The metadata that a call brings back, in the form of Google's server or of the AI SDK. */
export function metadataOf({ extra_content }: ToolCall): SharedV4ProviderMetadata | undefined {
  const metadata = toMetadata(extra_content);
  const { thought_signature, ...google } = metadata?.google ?? {};
  if (thought_signature === undefined) return metadata;
  return { ...metadata, google: { ...google, thoughtSignature: thought_signature } };
}

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
function toMetadata(value: unknown): SharedV4ProviderMetadata | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).filter((entry): entry is [string, JSONObject] =>
    isJsonObject(entry[1]),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
