import { type ChatRequest, ModelErrors, type ToolDefinition } from '../../contract.ts';
import { fillSchema, findExpression } from './demo-arguments.ts';

/** A call that the demo model wants made. */
export interface DemoToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

const ASKS_FOR_TIME = /\bwhat(?:'s| is)?\b.{0,20}\b(?:time|date|day)\b/i;
/** More calls in one turn than this are nobody's clear wish. */
const MOST_CALLS = 8;

/**
 * The calls that a prompt asks for: tools whose names it mentions, a calculator for arithmetic, a clock for the time.
 * `tool_choice` decides first: `none` gives nothing, a named function or `required` always a call.
 */
export function planToolCalls(request: ChatRequest, prompt: string): readonly DemoToolCall[] {
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
