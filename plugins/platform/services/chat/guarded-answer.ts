import {
  type ChatCompletion,
  type ChatMessage,
  type Guard,
  GuardErrors,
  ModelErrors,
} from '../../../agent-engine/contract.ts';
import { MAX_KEPT } from './kept-messages.ts';

type Choices = ChatCompletion['choices'];

/**
 * The choices of a whole answer without credentials. Log probabilities repeat the text token by token, so they leave only with a text that
 * was not changed. Throws `guard.output-blocked`, and `model.upstream` for an answer that is too long or too deep.
 */
export function guardedChoices(choices: Choices, guard: Guard, secretPrompt: string | undefined): Choices {
  return choices.map(({ logprobs, ...choice }) => {
    const { message } = choice;
    if (sizeOf(message) > MAX_ANSWER) throw tooLong();
    refuseUnsafe(message, guard, secretPrompt);
    const redacted = redactMessage(message, guard);
    const isUnchanged = redacted.content === message.content;
    return { ...choice, message: redacted, ...(logprobs !== undefined && isUnchanged && { logprobs }) };
  });
}

function sizeOf({ content, tool_calls }: ChatMessage): number {
  const said = typeof content === 'string' ? content.length : 0;
  return (tool_calls ?? []).reduce((size, call) => size + (call.function?.arguments?.length ?? 0), said);
}

function refuseUnsafe({ content }: ChatMessage, guard: Guard, secretPrompt: string | undefined): void {
  if (typeof content !== 'string' || content === '') return;
  const check = guard.checkOutput(secretPrompt);
  const finding = check.push(content) ?? check.end();
  if (finding !== undefined) throw blocked(finding.reason);
}

/** The error of an answer that may not be shown. */
export function blocked(reason: string) {
  return GuardErrors.outputBlocked(`The answer was refused by the guardrails: ${reason}.`, {
    retryable: false,
  });
}

/** An answer's message; every text that it holds passes the redaction. */
function redactMessage<M extends ChatMessage>(message: M, guard: Guard): M {
  const redacted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    redacted[name] = name === 'role' ? value : redactValue(value, guard);
  }
  return redacted as M;
}

/** Levels that a member of an answer may have, as many as a request's. More would exhaust the stack, here or where it is written. */
const MAX_DEPTH = 256;

/** Strings at any depth. Throws `model.upstream` for what is nested more than 256 levels deep. */
export function redactValue(value: unknown, guard: Guard, depth = 0): unknown {
  if (typeof value === 'string') return guard.redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw ModelErrors.upstream("The model provider's answer is nested too deep.");
  if (Array.isArray(value)) return value.map((item) => redactValue(item, guard, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactValue(item, guard, depth + 1)]),
  );
}

/** Characters of an answer's text and calls; more could not be kept, and would be held in memory until then. */
export const MAX_ANSWER = MAX_KEPT;

/** The error of an answer beyond `MAX_ANSWER`. */
export function tooLong() {
  return ModelErrors.upstream('The answer of the model is too long.', { retryable: false });
}
