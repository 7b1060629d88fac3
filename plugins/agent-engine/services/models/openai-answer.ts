import { StringDecoder } from 'node:string_decoder';
import { GatewayError } from 'agent-gateway';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type ChatChunk, type ChatCompletion, type ChatDelta, textOf, type Usage } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';
import { createSoundChoices, isFurther, soundMessage } from './openai-forms.ts';
import { malformed, type Redact, streamFailure } from './provider-errors.ts';

/**
 * A provider's plain answer as a completion. Throws `model.upstream` unless it has a choice with a message and a
 * `finish_reason`: what the provider did not say is not made up.
 */
export function parseCompletion(text: string, redact: Redact, newId: () => string): ChatCompletion {
  const value = jsonIn(text);
  if (value === undefined) throw malformed('it is not JSON');
  const answer = value as { error?: unknown; choices?: unknown } | null;
  if (answer?.error !== undefined && answer.error !== null) throw streamFailure(answer.error, redact);
  const given = Array.isArray(answer?.choices) ? answer.choices : [];
  // One answer is asked for: what comes beside it is no part of it.
  const choices = given.filter((choice) => !isFurther(choice)).map((choice) => soundChoice(choice, newId));
  if (choices.length === 0) throw malformed('it has no choices');
  const completion = value as ChatCompletion;
  return withCountedUsage({ ...completion, choices });
}

function soundChoice(
  choice: ChatCompletion['choices'][number] | null,
  newId: () => string,
): ChatCompletion['choices'][number] {
  if (typeof choice?.message !== 'object' || choice.message === null)
    throw malformed('a choice has no message');
  if (typeof choice.finish_reason !== 'string') throw malformed('a choice has no finish_reason');
  const message = soundMessage(choice.message, newId);
  if (message === undefined) throw malformed('a message is in no known form');
  return { ...choice, index: choice.index ?? 0, message };
}

/** A whole answer as the one chunk of its stream. Pure. */
export function asChunk({ choices, ...completion }: ChatCompletion): ChatChunk {
  return {
    ...completion,
    object: 'chat.completion.chunk',
    choices: choices.map(({ message, ...choice }) => {
      const { tool_calls: calls, content, ...said } = message;
      const tool_calls = calls?.map((call, index) => ({ index, ...call }));
      const text = content === null || content === undefined ? null : textOf(message);
      return { ...choice, delta: { ...said, content: text, ...(tool_calls && { tool_calls }) } as ChatDelta };
    }),
  };
}

/**
 * Turns the bytes of a provider's event stream into chunks. Any split of the bytes gives the same chunks. A
 * `finish_reason` is what makes an answer whole: a stream without one is an error even when it says `[DONE]`, and one
 * with it is whole even when `[DONE]` is missing.
 *
 * @param maxEventChars the largest single event, in characters
 * @param redact cleans what a provider's error event says before it is logged
 * @param newId makes an id for a call that has none of its own
 */
export function createChunkDecoder(maxEventChars: number, redact: Redact, newId: () => string) {
  // Not TextDecoder: its streaming mode costs several times as much per chunk.
  const utf8 = new StringDecoder('utf8');
  const soundChoices = createSoundChoices(newId);
  let chunks: ChatChunk[] = [];
  let isDone = false;
  let hasFinishReason = false;
  let failure: GatewayError | undefined;

  function onEvent(event: EventSourceMessage): void {
    if (isDone || failure !== undefined) return;
    if (event.data === '[DONE]') {
      isDone = true;
      return;
    }
    const result = parseChunk(event, redact, soundChoices);
    if (result instanceof GatewayError) {
      failure = result;
      return;
    }
    if (result.choices.some((choice) => typeof choice?.finish_reason === 'string')) hasFinishReason = true;
    chunks.push(result);
  }

  const isOver = () => isDone || failure !== undefined;

  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent,
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded')
        failure ??= malformed('an event of the stream is too large');
    },
  });

  return {
    /** True after `[DONE]` or a failure: later bytes mean nothing, and `end` throws if the stream failed. */
    isOver,
    /** True once the answer is whole: what breaks off now is only its end. */
    isWhole: () => hasFinishReason && failure === undefined,
    /** The chunks that these bytes complete. */
    feed(bytes: Buffer): readonly ChatChunk[] {
      chunks = [];
      if (!isOver()) parser.feed(utf8.write(bytes));
      return chunks;
    },
    /**
     * To be called when the stream is over or its body has ended. Throws `model.upstream` when an event was an error,
     * too large or no chat completion chunk, and when no `finish_reason` was seen.
     */
    end(): void {
      if (failure !== undefined) throw failure;
      if (!hasFinishReason) throw malformed('the stream ended without a finish_reason');
    },
  };
}

/** The chunk in an event, or the error that the event is. */
function parseChunk(
  event: EventSourceMessage,
  redact: Redact,
  soundChoices: ReturnType<typeof createSoundChoices>,
): ChatChunk | GatewayError {
  const value = jsonIn(event.data);
  const { error, choices } = (value ?? {}) as { error?: unknown; choices?: unknown };
  if (error !== undefined && error !== null) return streamFailure(error, redact);
  if (event.event === 'error') return streamFailure(value ?? event.data, redact);
  if (value === undefined) return malformed('an event of the stream is not JSON');
  const sound = Array.isArray(choices) ? soundChoices(choices) : undefined;
  if (sound === undefined) return malformed('an event of the stream is not a chat completion chunk');
  const chunk = value as ChatChunk;
  return withCountedUsage(sound === choices ? chunk : { ...chunk, choices: sound });
}

/**
 * A provider's usage, where both of its counts are valid, with their sum where it has none; undefined otherwise, as if
 * the provider had not counted: a broken number must not become a bill or spoil a metric, and is no reason to refuse a
 * whole answer. Pure.
 */
export function countedUsage(usage: Usage | null | undefined): Usage | null | undefined {
  if (usage === null || usage === undefined) return usage;
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (!isCount(input) || !isCount(output)) return undefined;
  return isCount(total) ? usage : { ...usage, total_tokens: input + output };
}

/** An answer, or a chunk of one, whose usage is one that `countedUsage` takes. */
export function withCountedUsage<T extends { readonly usage?: Usage | null }>(answer: T): T {
  const usage = countedUsage(answer.usage);
  return usage === answer.usage ? answer : { ...answer, usage };
}

/** No call comes near the bound, which is also that of a usage record's column. */
function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
}
