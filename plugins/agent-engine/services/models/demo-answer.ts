import {
  type ChatMessage,
  type ChatRequest,
  type FinishReason,
  ModelErrors,
  type ToolCall,
  type ToolDefinition,
  type Usage,
} from '../../contract.ts';
import { fillSchema, findExpression } from './demo-arguments.ts';

const NOTE =
  '(This is the built-in demo model. Set LLM_API_URL, LLM_API_KEY and LLM_MODEL to talk to a real one.)';
const HELP =
  `I am the demo model of this gateway. I work offline and answer the same way every time, so that you can try
the API before you have a provider. I stream, I call the tools that you offer when you name them, I keep to max_tokens,
stop and response_format, and I can tell you what you said before. To use a real model, set LLM_API_URL to the base URL
of an OpenAI-compatible server (for example https://api.openai.com/v1), LLM_API_KEY to its key and LLM_MODEL to the
model's name, and restart.`.replaceAll('\n', ' ');

const ASKS_WHAT_WAS_SAID =
  /\bwhat (?:did|have) i (?:just )?(?:say|said|ask|asked|tell|told|write|written)\b|\bdo you remember\b|\bwhat (?:was|were) my (?:last|previous|first|earlier)\b/i;
const ASKS_FOR_NAME = /\bwhat(?:'s| is) my name\b/i;
const TELLS_NAME = /\bmy name is ([\p{L}\p{N}'-]{1,40})/iu;
const ASKS_FOR_HELP = /\bhelp\b|\bwho are you\b|\bwhat can you do\b|\bconfigur|\breal model\b/i;
const GREETS = /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b/i;

/** Texts are looked at this far, which also bounds what a pattern can cost. */
const LOOKED_AT_CHARS = 4000;
const QUOTE_CHARS = 200;
const RESULT_CHARS = 1000;
const QUOTED_MESSAGES = 5;

/**
 * The answer to a conversation, calls or else a text: a pure function. Of the tools it calls only functions. Throws
 * `model.rejected` for a `tool_choice` that cannot be met, as a provider would.
 */
export function answerAsDemo(asked: ChatRequest): { text: string; calls: readonly DemoToolCall[] } {
  const request = { ...asked, tools: (asked.tools ?? []).filter(({ type }) => type === 'function') };
  const said = request.messages
    .filter(({ role }) => role === 'user')
    .map((message) => textOf(message).slice(0, LOOKED_AT_CHARS));
  const prompt = said.at(-1) ?? '';
  const results = toolResults(request.messages);
  if (results.length > 0) {
    const rest = planRest(request, prompt);
    if (rest.length > 0) return { text: '', calls: rest };
    return { text: inFormat(tellResults(results, request.messages), request), calls: [] };
  }
  const calls = planToolCalls(request, prompt);
  return { text: calls.length > 0 ? '' : inFormat(answerText(prompt, said, request), request), calls };
}

function answerText(prompt: string, said: readonly string[], request: ChatRequest): string {
  const earlier = said.slice(0, -1);
  if (ASKS_WHAT_WAS_SAID.test(prompt)) return recall(earlier);
  if (ASKS_FOR_NAME.test(prompt)) {
    const name = earlier.map((text) => TELLS_NAME.exec(text)?.[1]).findLast((found) => found !== undefined);
    return name === undefined ? 'You have not told me your name yet.' : `Your name is ${name}.`;
  }
  if (ASKS_FOR_HELP.test(prompt)) return HELP;
  if (GREETS.test(prompt) || prompt.trim() === '') return 'Hello! Say something, or ask me for help.';
  const tools = (request.tools ?? []).map((tool) => tool.function.name);
  const offer =
    tools.length === 0 ? '' : ` I was offered these tools: ${tools.join(', ')}. Name one and I call it.`;
  return `You said: ${quote(prompt)}. I cannot think about it, but I have read it.${offer}`;
}

function recall(earlier: readonly string[]): string {
  if (earlier.length === 0) return 'You have not said anything before this.';
  const quotes = earlier.slice(-QUOTED_MESSAGES).map(quote);
  return `Before this you said: ${quotes.join(', then ')}.`;
}

/** The results since the user last spoke, where the conversation ends with one. */
function toolResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (messages.at(-1)?.role !== 'tool') return [];
  return sinceUser(messages).filter(({ role }) => role === 'tool');
}

function sinceUser(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
}

/** Calls that were asked for and have not been made, where they have to be made one after the other. */
function planRest(request: ChatRequest, prompt: string): readonly DemoToolCall[] {
  const isFree = request.tool_choice === undefined || request.tool_choice === 'auto';
  if (request.parallel_tool_calls !== false || !isFree) return [];
  const calls = sinceUser(request.messages).flatMap((message) => message.tool_calls ?? []);
  const called = new Set(calls.map(nameOf));
  const tools = (request.tools ?? []).filter((tool) => !called.has(tool.function.name));
  return planToolCalls({ ...request, tools }, prompt);
}

function tellResults(results: readonly ChatMessage[], messages: readonly ChatMessage[]): string {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const lines = results.map((result) => {
    const call = calls.findLast(({ id }) => id === result.tool_call_id);
    const name = (call && nameOf(call)) ?? result.name;
    return `The tool${name ? ` ${name}` : ''} returned: ${shorten(textOf(result), RESULT_CHARS)}`;
  });
  return lines.join('\n');
}

/** The called function; undefined for a tool of another provider's own, which a conversation may have brought along. */
function nameOf({ function: called }: Partial<ToolCall>): string | undefined {
  return called?.name;
}

/** The answer with its note, in the form that was asked for. */
function inFormat(answer: string, { response_format }: ChatRequest): string {
  const text = `${answer} ${NOTE}`;
  if (response_format?.type === 'json_object') return JSON.stringify({ answer, note: NOTE });
  if (response_format?.type === 'json_schema') {
    return JSON.stringify(fillSchema(response_format.json_schema.schema ?? { type: 'object' }, text));
  }
  return text;
}

function quote(text: string): string {
  return `"${shorten(text.trim(), QUOTE_CHARS)}"`;
}

function shorten(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1).toWellFormed()}…`;
}

/** A call that the demo model wants made. */
interface DemoToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

const ASKS_FOR_TIME = /\bwhat(?:'s| is)?\b.{0,20}\b(?:time|date|day)\b/i;
/** Calls in one turn at most: a prompt hardly asks for more. */
const MOST_CALLS = 8;

/**
 * The calls that a prompt asks for: tools whose names it mentions, a calculator for arithmetic, a clock for the time.
 * `tool_choice` decides first: `none` gives nothing, a named function or `required` always a call.
 */
function planToolCalls(request: ChatRequest, prompt: string): readonly DemoToolCall[] {
  const tools = request.tools ?? [];
  const choice = request.tool_choice ?? 'auto';
  if (choice === 'none') return [];
  const wanted = tools.filter((tool) => isAskedFor(tool.function.name, prompt));
  if (typeof choice === 'object' && choice.type === 'function') {
    const { name } = choice.function;
    const named = tools.find((tool) => tool.function.name === name);
    if (named === undefined) throw refuse('The function that tool_choice names is not among the tools.');
    return [plan(named, prompt)];
  }
  if (choice === 'required' && wanted.length === 0) {
    const first = tools[0];
    if (first === undefined) throw refuse('tool_choice is "required", but there are no tools.');
    return [plan(first, prompt)];
  }
  const most = request.parallel_tool_calls === false ? 1 : MOST_CALLS;
  return wanted.slice(0, most).map((tool) => plan(tool, prompt));
}

function isAskedFor(name: string, prompt: string): boolean {
  if (` ${toWords(prompt)} `.includes(` ${toWords(name)} `)) return true;
  if (/calc|math|arith/i.test(name)) return findExpression(prompt) !== undefined;
  return /time|date|clock/i.test(name) && ASKS_FOR_TIME.test(prompt);
}

/** `Current_time!` → `current time`. */
function toWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

function plan(tool: ToolDefinition, prompt: string): DemoToolCall {
  const filled = fillSchema(tool.function.parameters ?? {}, prompt, 'object');
  return { name: tool.function.name, arguments: JSON.stringify(filled) };
}

function refuse(detail: string) {
  return ModelErrors.rejected(detail, { param: 'tool_choice', retryable: false });
}

/** A token is a word, or 16 characters of a longer one, with the white space before it. */
const TOKEN = /\s*\S{1,16}|\s+$/gu;

/** The text cut into tokens; joined they are the text again. */
export function toTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** The text of a message: its string, or its text parts on lines of their own. */
function textOf(message: ChatMessage): string {
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
