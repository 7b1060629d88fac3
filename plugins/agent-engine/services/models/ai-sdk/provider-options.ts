import type {
  JSONObject,
  LanguageModelV4CallOptions,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { ChatRequest } from '../../../contract.ts';
import { reasoningDetailsOf } from './kept-metadata.ts';

/** Values of `reasoning_effort` that the AI SDK knows too. */
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** How much is thought before the answer; undefined leaves it to the provider. */
export interface ReasoningEffort {
  readonly effort: LanguageModelV4CallOptions['reasoning'];
  readonly warnings: readonly SharedV4Warning[];
}

/**
 * The request's `reasoning_effort`. Anthropic refuses to think on after a tool call whose thoughts it is not given back, which is
 * what a client does that keeps only what OpenAI's format has: such a step is answered without new thoughts.
 */
export function reasoningEffort(request: ChatRequest, provider: string): ReasoningEffort {
  const { reasoning_effort: effort } = request;
  if (effort === undefined || effort === null) return { effort: undefined, warnings: [] };
  if (typeof effort !== 'string' || !EFFORTS.has(effort)) {
    return { effort: undefined, warnings: [{ type: 'unsupported', feature: 'this reasoning_effort' }] };
  }
  const last = request.messages.findLast(({ role }) => role === 'assistant' || role === 'user');
  const hasLostThoughts = (last?.tool_calls ?? []).length > 0 && reasoningDetailsOf(last!).length === 0;
  if (provider === 'anthropic' && effort !== 'none' && hasLostThoughts) {
    const message = 'no thinking after a tool call whose reasoning_details were not sent back';
    return { effort: undefined, warnings: [{ type: 'other', message }] };
  }
  return { effort: effort as ReasoningEffort['effort'], warnings: [] };
}

/** What only one provider knows, and what is lost with all others. */
export function providerOptions(
  request: ChatRequest,
  provider: string,
): { readonly options: SharedV4ProviderOptions | undefined; readonly warnings: readonly SharedV4Warning[] } {
  const isSerial = request.parallel_tool_calls === false && (request.tools ?? []).length > 0;
  if (provider !== 'anthropic') {
    const warnings: SharedV4Warning[] = isSerial
      ? [{ type: 'unsupported', feature: 'parallel_tool_calls' }]
      : [];
    return { options: undefined, warnings };
  }
  const anthropic: JSONObject = {
    ...(isSerial && { disableParallelToolUse: true }),
    ...(typeof request.user === 'string' && { metadata: { userId: request.user } }),
  };
  return { options: Object.keys(anthropic).length > 0 ? { anthropic } : undefined, warnings: [] };
}
