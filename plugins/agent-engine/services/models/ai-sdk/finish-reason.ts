import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { FinishReason } from '../../../contract.ts';
import { malformed } from '../provider-errors.ts';

/**
 * Why the model stopped, in OpenAI's words. Throws `model.upstream` for an answer that the provider did not finish: none is
 * ever made up.
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
