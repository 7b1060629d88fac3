import type { FieldError } from 'agent-gateway';
import type { ChatRequest } from '../../../agent-engine/contract.ts';

/** Problems that are reported at most: of a thousand tools each can have one. */
const MAX_PROBLEMS = 20;

/** A request of which any member may be of a wrong type: what is wrong with types, its schema says. */
type UnreadRequest = { readonly [Member in keyof ChatRequest]?: unknown };

/**
 * The problems of a request that are errors for every provider: a function without its name, a form of answer without
 * its schema, and those that `conversationProblems` finds. Tools that are no functions are the provider's own, and
 * pass. Pure.
 */
export function requestProblems(request: UnreadRequest): readonly FieldError[] {
  const { messages, tools, tool_choice: choice, response_format: format } = request;
  const problems: FieldError[] = [];
  for (const [index, tool] of listOf(tools).entries()) {
    if (lacks(tool, 'function')) problems.push(required(`/body/tools/${index}/function`, 'function'));
  }
  if (lacks(choice, 'function')) problems.push(required('/body/tool_choice/function', 'function'));
  if (lacks(format, 'json_schema')) {
    problems.push(required('/body/response_format/json_schema', 'json_schema'));
  }
  return [...problems, ...conversationProblems(listOf(messages))].slice(0, MAX_PROBLEMS);
}

/**
 * The tools that an agent cannot offer, since they are the provider's own and not a client's: no client would run their
 * calls. Pure.
 */
export function clientToolProblems(tools: unknown): readonly FieldError[] {
  const problems: FieldError[] = [];
  for (const [index, { type }] of listOf(tools).entries()) {
    if (type === 'function' || typeof type !== 'string') continue;
    problems.push({ pointer: `/body/tools/${index}/type`, message: 'must be "function" for an agent' });
    if (problems.length >= MAX_PROBLEMS) break;
  }
  return problems;
}

/** True for an object of this type without the member of the same name, which holds the definition. */
function lacks(given: unknown, type: 'function' | 'json_schema'): boolean {
  if (typeof given !== 'object' || given === null) return false;
  const { type: actual, [type]: member } = given as Record<string, unknown>;
  return actual === type && (typeof member !== 'object' || member === null);
}

const required = (pointer: string, type: string): FieldError => ({
  pointer,
  message: `is required for type ${type}`,
});

type Members = Readonly<Record<string, unknown>>;

/** The objects of a list, each in its place; of anything else none. */
function listOf(list: unknown): readonly Members[] {
  if (!Array.isArray(list)) return [];
  return list.map((item) => (typeof item === 'object' && item !== null ? item : {}));
}

/** An assistant may have called tools instead; the result of an old-style function may be nothing. */
const SPEAKING: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'tool']);

/**
 * The problems of messages that are errors for every provider: a tool's result that belongs to no call, a call of no
 * function, a message without content, a text part without text.
 */
export function conversationProblems(messages: readonly object[]): readonly FieldError[] {
  const problems: FieldError[] = [];
  for (const [index, message] of messages.entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    collectProblems(message as Members, `/body/messages/${index}`, problems);
  }
  return problems;
}

function collectProblems(message: Members, pointer: string, problems: FieldError[]): void {
  const { role, content } = message;
  if (role === 'tool' && typeof message.tool_call_id !== 'string') {
    problems.push({ pointer: `${pointer}/tool_call_id`, message: 'is required for role tool' });
  }
  for (const [index, call] of listOf(message.tool_calls).entries()) {
    // A call of a provider's own type names its target in another member, which the provider knows.
    if (call.function !== undefined || (call.type ?? 'function') !== 'function') continue;
    problems.push({ pointer: `${pointer}/tool_calls/${index}/function`, message: 'is required' });
    if (problems.length >= MAX_PROBLEMS) return;
  }
  if (content === undefined || content === null) {
    if (SPEAKING.has(role)) {
      problems.push({ pointer: `${pointer}/content`, message: `is required for role ${role}` });
    }
    return;
  }
  const part = listOf(content).findIndex(({ type, text }) => type === 'text' && typeof text !== 'string');
  if (part >= 0) {
    problems.push({ pointer: `${pointer}/content/${part}/text`, message: 'is required for type text' });
  }
}
