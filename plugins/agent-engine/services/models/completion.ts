import type { ChatCompletion } from '../../contract.ts';
import { countedUsage } from './counted-usage.ts';
import { malformed, streamFailure } from './provider-errors.ts';
import type { Redact } from './redact.ts';

/**
 * A provider's plain answer as a completion. Throws `model.upstream` unless it has a choice with a message and a
 * `finish_reason`: what the provider did not say is not made up.
 */
export function parseCompletion(text: string, redact: Redact): ChatCompletion {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('it is not JSON');
  }
  const answer = value as { error?: unknown; choices?: unknown } | null;
  if (answer?.error !== undefined && answer.error !== null) throw streamFailure(answer.error, redact);
  if (!Array.isArray(answer?.choices) || answer.choices.length === 0) throw malformed('it has no choices');
  for (const choice of answer.choices) {
    if (typeof choice?.message !== 'object' || choice.message === null)
      throw malformed('a choice has no message');
    if (typeof choice.finish_reason !== 'string') throw malformed('a choice has no finish_reason');
  }
  const completion = value as ChatCompletion;
  const usage = countedUsage(completion.usage);
  return usage === completion.usage ? completion : { ...completion, usage };
}
