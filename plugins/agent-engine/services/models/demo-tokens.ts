import type { ChatMessage, ChatRequest, FinishReason, Usage } from '../../contract.ts';

/** A token is a word, or 16 characters of a longer one, with the white space before it. */
const TOKEN = /\s*\S{1,16}|\s+$/gu;

/** The text cut into tokens; joined they are the text again. */
export function toTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** The text of a message: its string, or its text parts on lines of their own. */
export function textOf(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n');
}

/** The text as far as the request's `stop` and token limit let it go, and why it ends there. */
export function limitText(
  text: string,
  request: ChatRequest,
): { content: string; finish_reason: FinishReason } {
  const stops = [request.stop ?? []].flat().filter((stop) => stop !== '');
  const ends = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
  const content = text.slice(0, Math.min(text.length, ...ends));
  const limit = Math.min(
    request.max_tokens ?? Number.POSITIVE_INFINITY,
    request.max_completion_tokens ?? Number.POSITIVE_INFINITY,
  );
  const tokens = toTokens(content);
  if (tokens.length <= limit) return { content, finish_reason: 'stop' };
  return { content: tokens.slice(0, limit).join(''), finish_reason: 'length' };
}

/** A deterministic estimate of what a request and the texts of its answer consumed. */
export function estimateUsage(request: ChatRequest, answer: readonly string[]): Usage {
  const prompt = request.messages.flatMap((message) => [
    textOf(message),
    ...(message.tool_calls ?? []).map((call) => JSON.stringify(call.function ?? call)),
  ]);
  if (request.tools !== undefined) prompt.push(JSON.stringify(request.tools));
  const prompt_tokens = countTokens(prompt);
  const completion_tokens = countTokens(answer);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Counts without keeping the tokens: a prompt may be long. */
function countTokens(texts: readonly string[]): number {
  let count = 0;
  for (const text of texts) {
    for (const _ of text.matchAll(TOKEN)) count += 1;
  }
  return count;
}
