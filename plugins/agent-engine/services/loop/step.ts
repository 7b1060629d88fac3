import { isJsonObject } from 'agent-gateway';
import type { ChatMessage, ToolCall } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';
import type { Answer } from './answer.ts';
import type { Frame, Outcome, Step, StepCall } from './frame.ts';

/**
 * How an answer ends the turn; undefined for one whose calls are to be made. Calls count, whatever the finish reason,
 * unless the answer was cut (`length`) or withheld (`content_filter`): such calls may be incomplete, and are not made.
 * Pure.
 */
export function finishOf({
  calls,
  finishReason,
}: Pick<Answer, 'calls' | 'finishReason'>): 'stop' | 'length' | 'content_filter' | undefined {
  if (finishReason === 'length' || finishReason === 'content_filter') return finishReason;
  return calls.length === 0 ? 'stop' : undefined;
}

/** The message of an answer. */
export function assistantMessage(text: string, calls: readonly ToolCall[] = []): ChatMessage {
  if (calls.length === 0) return { role: 'assistant', content: text };
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
}

/** Begins a step: numbers the calls, and sets those of client tools aside. */
export function beginStep(
  {
    text,
    calls,
    reasoningDetails = [],
  }: Pick<Answer, 'text' | 'calls'> & Pick<Partial<Answer>, 'reasoningDetails'>,
  frame: Pick<Frame, 'prefix' | 'calls'>,
  isClientTool: (name: string) => boolean,
): Step {
  return {
    text,
    ...(reasoningDetails.length > 0 && { reasoningDetails }),
    calls: calls.map((call, index) => ({
      call: { ...call, function: { ...call.function, arguments: call.function.arguments || '{}' } },
      position: `${frame.prefix}${frame.calls + index + 1}`,
      status: { is: isClientTool(call.function.name) ? 'client' : 'open' },
    })),
  };
}

/**
 * Ends a step; undefined while some call still waits. `messages` are the answer, then the results in the order of the
 * calls; `clientCalls` are those that the caller answers. Pure.
 */
export function closeStep(
  step: Step,
): { readonly messages: readonly ChatMessage[]; readonly clientCalls: readonly ToolCall[] } | undefined {
  const results: ChatMessage[] = [];
  const clientCalls: ToolCall[] = [];
  for (const { call, status } of step.calls) {
    if (status.is === 'client') clientCalls.push(call);
    else if (status.is === 'done')
      results.push({ role: 'tool', tool_call_id: call.id, content: status.outcome.content });
    else return undefined;
  }
  const calls = step.calls.map(({ call }) => withReadableArguments(call));
  const { text, reasoningDetails } = step;
  const answer = assistantMessage(text, calls);
  const message =
    reasoningDetails === undefined ? answer : { ...answer, reasoning_details: reasoningDetails };
  return { messages: [message, ...results], clientCalls };
}

/**
 * Providers would refuse every request that holds malformed arguments; the model has read in the result what was wrong.
 */
function withReadableArguments(call: ToolCall): ToolCall {
  if (isJsonObject(jsonIn(call.function.arguments))) return call;
  return { ...call, function: { ...call.function, arguments: '{}' } };
}

/** Gives every call that would be run the same result. */
export function answerAll(step: Step, outcome: Outcome): void {
  for (const call of step.calls) if (call.status.is === 'open') finishCall(call, outcome);
}

/** Gives a call its result. */
export function finishCall(call: StepCall, outcome: Outcome): void {
  call.status = { is: 'done', outcome };
}
