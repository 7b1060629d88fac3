import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type { ChatCompletion, ToolCall } from '../../../contract.ts';
import { toFinishReason } from './finish-reason.ts';
import type { ReasoningDetail } from './kept-metadata.ts';
import { toUsage } from './usage.ts';

/** What every answer says of itself. */
export interface AnswerHead {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
}

/**
 * A whole answer in OpenAI's format. Thoughts are in `reasoning_content`. What tools of the provider's own did is left out, and so
 * are sources and files, for which the format has no place. Throws `model.upstream` for an answer that was not finished.
 */
export function toCompletion(result: LanguageModelV4GenerateResult, head: AnswerHead): ChatCompletion {
  const finish_reason = toFinishReason(result.finishReason);
  const texts: string[] = [];
  const thoughts: string[] = [];
  const details: ReasoningDetail[] = [];
  const calls: ToolCall[] = [];
  for (const part of result.content) {
    if (part.type === 'text') texts.push(part.text);
    if (part.type === 'reasoning') {
      thoughts.push(part.text);
      if (part.providerMetadata) details.push({ text: part.text, provider_metadata: part.providerMetadata });
    }
    if (part.type === 'tool-call' && !part.providerExecuted) {
      calls.push({
        ...{ id: part.toolCallId, type: 'function' },
        function: { name: part.toolName, arguments: part.input },
        ...(part.providerMetadata && { extra_content: part.providerMetadata }),
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
    ...{ id: result.response?.id ?? head.id, object: 'chat.completion', created: head.created },
    model: result.response?.modelId ?? head.model,
    choices: [{ index: 0, message, finish_reason }],
    ...(usage && { usage }),
  };
}
