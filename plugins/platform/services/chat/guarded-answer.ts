import {
  type ChatCompletion,
  type ChatMessage,
  type Guard,
  GuardErrors,
  keptThoughts,
  MAX_KEPT,
  ModelErrors,
  type ModelInfo,
  type OutputCheck,
  redactValue,
  type TextOwner,
  type ToolCall,
} from '../../../agent-engine/contract.ts';

type Choices = ChatCompletion['choices'];

/**
 * The choices of a whole answer without credentials. Log probabilities repeat the text token by token, so they are sent
 * only with a text that was not changed. Throws `guard.output-blocked`, and `model.upstream` for an answer that is too
 * long or too deep.
 */
export function guardedChoices(
  choices: Choices,
  guard: Guard,
  secretPrompt: string | undefined,
  owner: TextOwner,
): Choices {
  return choices.map(({ logprobs, ...choice }) => {
    const { message } = choice;
    if (sizeOf(message) > MAX_ANSWER) throw tooLong();
    refuseUnsafe(message, guard.checkOutput(secretPrompt, owner));
    const redacted = redactMessage(message, guard);
    const isUnchanged = redacted.content === message.content;
    return {
      ...(redactValue(choice, guard) as typeof choice),
      message: redacted,
      ...(logprobs !== undefined && isUnchanged && { logprobs }),
    };
  });
}

/** Characters of what is kept of an answer; texts as they are, everything else as JSON. */
function sizeOf({ content, refusal, tool_calls, reasoning_details }: ChatMessage): number {
  const calls: readonly Partial<ToolCall>[] = tool_calls ?? [];
  const texts = [content, refusal, ...calls.map((call) => call.function?.arguments)];
  const others = calls.map(({ function: called, ...call }) => ({ ...call, name: called?.name }));
  const size = texts.reduce((sum: number, text) => sum + (typeof text === 'string' ? text.length : 0), 0);
  return size + JSON.stringify([others, reasoning_details]).length;
}

function refuseUnsafe({ content }: ChatMessage, check: OutputCheck): void {
  if (typeof content !== 'string' || content === '') return;
  const finding = check.push(content) ?? check.end();
  if (finding !== undefined) throw blocked(finding.reason);
}

/** The error of an answer that may not be shown. */
export function blocked(reason: string) {
  return GuardErrors.outputBlocked(`The answer was refused by the guardrails: ${reason}.`, {
    retryable: false,
  });
}

/** Arguments are JSON as text, and stay JSON. A call in a provider's own form is any other value. */
function redactCall(call: ToolCall, guard: Guard): unknown {
  const given: unknown = call.function?.arguments;
  const redacted = redactValue(call, guard) as ToolCall;
  if (typeof given !== 'string') return redacted;
  return { ...redacted, function: { ...redacted.function, arguments: guard.redactJsonText(given) } };
}

/** An answer's message; every text that it holds passes the redaction. */
function redactMessage<M extends ChatMessage>(message: M, guard: Guard): M {
  const redacted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    redacted[name] = redactValue(value, guard);
  }
  const { tool_calls } = message;
  if (Array.isArray(tool_calls)) redacted.tool_calls = tool_calls.map((call) => redactCall(call, guard));
  return redacted as M;
}

/**
 * What of an answer is kept in its session, and goes back to a model with the next turn: the text, which a refusal is
 * too, and calls with the thoughts that their provider wants back. Other thoughts and additions are not kept: many
 * providers refuse every later turn that brings them. Pure.
 */
export function keptAnswer(answer: ChatMessage, answeredBy: Pick<ModelInfo, 'provider'>): ChatMessage {
  const { content, refusal, tool_calls, reasoning_content, reasoning_details } = answer;
  const text = content || (refusal as ChatMessage['content']);
  if (!tool_calls?.length) return { role: 'assistant', content: text || '' };
  const thoughts = typeof reasoning_content === 'string' ? keptThoughts(reasoning_content, answeredBy) : [];
  const details = [...(Array.isArray(reasoning_details) ? reasoning_details : []), ...thoughts];
  return {
    role: 'assistant',
    content: text || null,
    tool_calls,
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

/**
 * Characters of an answer's text and calls, and of what its provider wants back; a longer answer could not be stored,
 * and would stay in memory until its end.
 */
export const MAX_ANSWER = MAX_KEPT;

/** The error of an answer beyond `MAX_ANSWER`. */
export function tooLong() {
  return ModelErrors.upstream('The answer of the model is too long.', { retryable: false });
}
