import { type FieldError, isJsonObject, isStorableText } from 'agent-gateway';
import type { JsonObject, TaskCompletion } from '../../../workflow/contract.ts';
import { jsonObject } from '../v3-chat/tool-outputs.ts';

/** The members of a completion. */
const MEMBERS: ReadonlySet<string> = new Set(['outcome', 'output', 'variables']);

/** Characters of an outcome at most, as in the engine's own route. */
const MAX_OUTCOME = 256;

/**
 * What is wrong with the `resume_data` of a body, which may be anything: a completion with members that are none. Any
 * other object, and any text, is good. Pure.
 */
export function resumeProblems(data: unknown): readonly FieldError[] {
  const given = typeof data === 'string' ? jsonObject(data) : data;
  if (!isJsonObject(given) || !isCompletion(given)) return [];
  const messages: string[] = [];
  if (given.outcome !== undefined && !isOutcome(given.outcome)) {
    const bounds = `at most ${MAX_OUTCOME} characters, without U+0000 and half surrogate pairs`;
    messages.push(`outcome must be a text of ${bounds}`);
  }
  for (const name of ['output', 'variables']) {
    const value = given[name];
    if (value !== undefined && !isJsonObject(value)) messages.push(`${name} must be an object`);
  }
  return messages.map((message) => ({ pointer: '/body/resume_data', message }));
}

/**
 * The completion in data without problems: an object or its JSON text; any other object is the output, any other text
 * the answer, and the outcome if it can be one. Pure.
 */
export function completionOf(data: string | JsonObject): TaskCompletion {
  const given = typeof data === 'string' ? (jsonObject(data) as JsonObject | undefined) : data;
  if (given === undefined) {
    const answer = data as string;
    return { output: { answer }, ...(isOutcome(answer) && { outcome: answer }) };
  }
  return isCompletion(given) ? (given as TaskCompletion) : { output: given };
}

function isCompletion(given: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(given);
  return names.length > 0 && names.every((name) => MEMBERS.has(name));
}

/**
 * Whether a value can be an outcome. A long text is an answer: no edge is named so, and outcomes are in events and in
 * the audit log.
 */
function isOutcome(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_OUTCOME && isStorableText(value);
}
