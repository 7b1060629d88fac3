import type { ChatMessage, ToolCall, Usage } from './chat.ts';
import type { MeasuredCall, ModelUse } from './metering.ts';

/** What a message costs in addition to its text: role and separators. */
const PER_MESSAGE = 4;
/** An image or another part that is no text, as providers count a middle-sized one. */
const PER_PART = 765;

/**
 * How many tokens a text has, roughly, without any model's vocabulary: four ASCII characters a token, one token for
 * each two letters of other alphabets, one for each ideograph or symbol. Within about a quarter of the truth for prose
 * and code; marked as an estimate wherever it is shown. Pure.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) quarters += 1;
    else if (code < 0x2e80) quarters += 2;
    // Half of a surrogate pair, or an ideograph of its own.
    else quarters += code >= 0xd800 && code <= 0xdfff ? 2 : 4;
  }
  return Math.ceil(quarters / 4);
}

/** The same for a message: its text, its tool calls, and what separates it from the next. */
export function estimateMessageTokens(message: ChatMessage): number {
  let tokens = PER_MESSAGE;
  const { content } = message;
  if (typeof content === 'string') tokens += estimateTokens(content);
  else
    for (const part of content ?? [])
      tokens += part.text === undefined ? PER_PART : estimateTokens(part.text);
  // Clients write null for no calls, and a provider's built-in tools are called without a function.
  for (const call of message.tool_calls ?? []) {
    const called: ToolCall['function'] | undefined = call.function;
    tokens += PER_MESSAGE;
    if (called === undefined) tokens += estimateTokens(JSON.stringify(call));
    else tokens += estimateTokens(called.name) + estimateTokens(called.arguments);
  }
  return tokens;
}

/**
 * What a call consumed, roughly, for providers that do not count and for answers that were broken off. Thoughts count
 * as output.
 *
 * @param answer as much of the answer as there is; undefined where nothing came
 */
export function estimateUse(
  { messages, tools }: MeasuredCall['request'],
  answer: ChatMessage | undefined,
): { readonly inputTokens: number; readonly outputTokens: number } {
  let inputTokens = tools === undefined ? 0 : estimateTokens(JSON.stringify(tools));
  for (const message of messages) inputTokens += estimateMessageTokens(message);
  if (answer === undefined) return { inputTokens, outputTokens: 0 };
  const { reasoning_content: thoughts } = answer;
  const thought = typeof thoughts === 'string' ? estimateTokens(thoughts) : 0;
  return { inputTokens, outputTokens: estimateMessageTokens(answer) + thought };
}

/**
 * What a call consumed, as it is metered. If the provider did not count, the tokens are estimated; otherwise no
 * estimate is made. The cached parts of the input never exceed the input, and a value that is not a count is 0:
 * providers are not trusted with the bill.
 *
 * @param alias the alias that was asked
 * @param info the model that answered (`ModelCallContext.answeredBy`)
 * @param usage what the provider counted; some send an empty one
 */
export function toModelUse(
  alias: string,
  info: MeasuredCall['answeredBy'],
  usage: Usage | null | undefined,
  estimate: () => { readonly inputTokens: number; readonly outputTokens: number },
): ModelUse {
  const common = { model: alias, provider: info.provider, providerModel: info.model };
  if (!isCounted(usage)) {
    const { inputTokens, outputTokens } = estimate();
    return {
      ...common,
      inputTokens: toCount(inputTokens),
      outputTokens: toCount(outputTokens),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      isEstimated: true,
    };
  }
  const inputTokens = toCount(usage.prompt_tokens);
  const cacheReadTokens = Math.min(inputTokens, toCount(usage.prompt_tokens_details?.cached_tokens));
  const written = toCount(usage.prompt_tokens_details?.cache_write_tokens);
  return {
    ...common,
    inputTokens,
    outputTokens: toCount(usage.completion_tokens),
    cacheReadTokens,
    cacheWriteTokens: Math.min(inputTokens - cacheReadTokens, written),
    isEstimated: false,
  };
}

function isCounted(usage: Usage | null | undefined): usage is Usage {
  return toCount(usage?.prompt_tokens) + toCount(usage?.completion_tokens) > 0;
}

/** Usage records hold 32-bit integers; no call comes near that. */
const MOST_TOKENS = 2 ** 31 - 1;

function toCount(value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  return Math.min(MOST_TOKENS, Math.round(value));
}
