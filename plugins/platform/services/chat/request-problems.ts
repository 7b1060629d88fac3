import type { FieldError } from 'agent-gateway';
import type { ChatRequest } from '../../../agent-engine/contract.ts';
import { conversationProblems } from './conversation-problems.ts';

/** Problems that are told at most: of a thousand tools each can have one. */
const MAX_TOLD = 20;

/**
 * What is wrong with a well-formed request, for every provider: a function without its name, a form of answer without its schema, and
 * what `conversationProblems` finds. Tools that are no functions are the provider's own, and pass. Pure.
 */
export function requestProblems(
  request: Pick<ChatRequest, 'messages' | 'tools' | 'tool_choice' | 'response_format'>,
): readonly FieldError[] {
  const { messages, tools, tool_choice: choice, response_format: format } = request;
  const problems: FieldError[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    if (lacks(tool, 'function')) problems.push(required(`/body/tools/${index}/function`, 'function'));
  }
  if (lacks(choice, 'function')) problems.push(required('/body/tool_choice/function', 'function'));
  if (lacks(format, 'json_schema')) {
    problems.push(required('/body/response_format/json_schema', 'json_schema'));
  }
  return [...problems, ...conversationProblems(messages)].slice(0, MAX_TOLD);
}

/** The tools that an agent cannot offer, since they are the provider's own and not a client's: their calls would reach nobody. Pure. */
export function clientToolProblems(tools: ChatRequest['tools'] | null): readonly FieldError[] {
  const problems: FieldError[] = [];
  for (const [index, { type }] of (tools ?? []).entries()) {
    if (type === 'function') continue;
    problems.push({ pointer: `/body/tools/${index}/type`, message: 'must be "function" for an agent' });
    if (problems.length >= MAX_TOLD) break;
  }
  return problems;
}

/** True for an object of this type without the member of the same name, which says what is meant. */
function lacks(given: unknown, type: 'function' | 'json_schema'): boolean {
  if (typeof given !== 'object' || given === null) return false;
  const { type: actual, [type]: member } = given as Record<string, unknown>;
  return actual === type && (typeof member !== 'object' || member === null);
}

const required = (pointer: string, type: string): FieldError => ({
  pointer,
  message: `is required for type ${type}`,
});
