import type { FieldError } from 'agent-gateway';
import type { ChatRequest } from '../../../contract.ts';

/** Forms of answers that have a counterpart in the AI SDK. */
const FORMATS: ReadonlySet<string> = new Set(['text', 'json_object', 'json_schema']);

/**
 * What of a request is in a form of another provider's own: tools, choices and calls that are no functions, unknown forms of answers. They
 * cannot be translated, and leaving them out would change what was asked for. Pure.
 */
export function unknownForms({
  messages,
  tools,
  tool_choice: choice,
  response_format: format,
}: ChatRequest): readonly FieldError[] {
  const problems: FieldError[] = [];
  const refuse = (pointer: string) =>
    problems.push({ pointer, message: 'is a type that this model provider does not take' });
  for (const [index, tool] of (tools ?? []).entries()) {
    if (!isFunction(tool)) refuse(`/tools/${index}/type`);
  }
  if (choice !== null && typeof choice === 'object' && !isFunction(choice)) refuse('/tool_choice/type');
  if (format && !FORMATS.has(format.type)) refuse('/response_format/type');
  for (const [index, { tool_calls: calls }] of messages.entries()) {
    for (const [place, call] of (calls ?? []).entries()) {
      if (!isFunction({ ...call, type: call.type ?? 'function' }))
        refuse(`/messages/${index}/tool_calls/${place}/type`);
    }
  }
  return problems;
}

/** Clients are not typed: what says that it is a function may have none. */
function isFunction(given: { readonly type: string; readonly function?: unknown }): boolean {
  return given.type === 'function' && typeof given.function === 'object' && given.function !== null;
}
