import { type FieldError, KernelErrors, parsedJson, pointerPath } from 'agent-gateway';
import type { Decision, Interrupt } from '../../../agent-engine/contract.ts';

/** A client's answer to one of the open calls of a chat. */
export interface ToolOutput {
  readonly toolCallId: string;
  readonly output: string;
}

/** An open interrupt as the SDK knows it: a call of a tool whose output is awaited. Pure. */
export function toToolCall({ id, type, toolCall, reason, fields }: Interrupt) {
  const called =
    type === 'approval' && toolCall
      ? { name: toolCall.name, arguments: toolCall.arguments }
      : { name: 'ask_user', arguments: JSON.stringify({ question: reason, fields }) };
  return { id, type: 'function', function: called };
}

/**
 * The decisions in outputs, by interrupt id: for an approval `approve`, `reject` or a decision as JSON; for a question
 * its answer, or the answers by field as JSON. The engine checks whether they fit the pauses. Pure.
 *
 * @throws request.invalid for an output without an open call, and for a call without an output
 */
export function readOutputs(
  outputs: readonly ToolOutput[],
  open: readonly Interrupt[],
): Readonly<Record<string, Decision>> {
  const errors: FieldError[] = outputs
    .map(({ toolCallId }, index) => ({ toolCallId, pointer: `/body/tool_outputs/${index}/tool_call_id` }))
    .filter(({ toolCallId }) => !open.some(({ id }) => id === toolCallId))
    .map(({ pointer }) => ({ pointer, message: 'is no call that waits for an output' }));
  const missing = open.filter(({ id }) => !outputs.some(({ toolCallId }) => toolCallId === id));
  if (missing.length > 0) {
    const message = `has no output for ${missing.map(({ id }) => id).join(', ')}`;
    errors.push({ pointer: '/body/tool_outputs', message });
  }
  if (errors.length > 0) throw KernelErrors.invalidRequest(undefined, { errors });
  const decided = open.map((interrupt) => {
    const { output } = outputs.findLast(({ toolCallId }) => toolCallId === interrupt.id)!;
    return [interrupt.id, decisionOf(output, interrupt)] as const;
  });
  return Object.fromEntries(decided);
}

/** The place in the body of a problem that the engine reports of these decisions. Pure. */
export function placeInOutputs(outputs: readonly ToolOutput[], pointer: string): string {
  const [, id] = pointerPath(pointer);
  const index = outputs.findLastIndex(({ toolCallId }) => toolCallId === id);
  return index < 0 ? '/body/tool_outputs' : `/body/tool_outputs/${index}/output`;
}

function decisionOf(output: string, { type, fields }: Interrupt): Decision {
  const given = jsonObject(output);
  if (type === 'approval') return (given ?? { decision: output.trim() }) as Decision;
  if (given === undefined) return { answers: { [fields[0]?.name ?? 'answer']: output } };
  return 'answers' in given ? (given as Decision) : { answers: given };
}

/** Undefined for a text that is not the JSON of an object. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  const value = text.trimStart().startsWith('{') ? parsedJson(text) : undefined;
  return value as Record<string, unknown> | undefined;
}
