import type { ModelInfo } from './models.ts';

/** The `type` of a member of `reasoning_details` that holds thoughts which no provider has signed: `{type, text}`. */
export const THOUGHTS = 'agent-gateway.thoughts';

/** Characters of thoughts that are kept of one answer, the last ones. */
const MOST = 16_384;

/**
 * The thoughts of an answer (`reasoning_content`) as a message keeps them in its `reasoning_details`, for servers of
 * OpenAI's format that want them back with the results of calls. Empty for an answer without, and for other providers,
 * which want their thoughts signed or not at all. Pure.
 *
 * @param answeredBy the model that answered (`ModelCallContext.answeredBy`)
 */
export function keptThoughts(text: string, answeredBy: Pick<ModelInfo, 'provider'>): readonly unknown[] {
  if (text === '' || answeredBy.provider !== 'openai') return [];
  return [{ type: THOUGHTS, text: text.slice(-MOST).toWellFormed() }];
}
