import {
  type AnswerPart,
  type ChatChunk,
  type ChatCompletion,
  type ChatDelta,
  type ChatMessage,
  ModelErrors,
  type ToolCall,
  type ToolCallDelta,
  textOf,
} from '../../../contract.ts';
import { type GuardedText, guardText } from './guard-text.ts';
import type { GuardAtWork } from './opened-guards.ts';

/** Members of deltas with a text of their own; providers have a handful. */
const MAX_MEMBERS = 32;
/** Calls of one answer. */
const MAX_CALLS = 1024;

/** A text of the answer; without guards that look at it, it passes as it is. */
interface OpenText {
  readonly text: GuardedText | undefined;
  readonly part: AnswerPart;
}

interface OpenCall {
  id: string | undefined;
  /** In a provider's own form, which has no text that a guard could look at: it does not leave. */
  readonly isOwn: boolean;
  text: GuardedText | undefined;
}

/**
 * One answer on its way through guards: each of its texts is guarded separately, reasoning before the text that follows
 * it.
 */
function guardAnswer(guards: readonly GuardAtWork[], keeps: readonly string[]) {
  const texts = new Map<string, OpenText>();
  const calls = new Map<number, OpenCall>();
  let isEnded = false;

  function textNamed(name: string): OpenText {
    const open = texts.get(name);
    if (open !== undefined) return open;
    if (texts.size >= MAX_MEMBERS) throw tooMuch();
    const part = name.startsWith('reasoning') ? 'reasoning' : 'answer';
    const begun = { part, text: guardText(guards, part) } as const;
    texts.set(name, begun);
    return begun;
  }

  async function pushed(text: GuardedText | undefined, piece: string): Promise<string> {
    if (text === undefined) return piece;
    const left = await text.push(piece);
    isEnded ||= text.isEnded();
    return left;
  }

  async function ended(text: GuardedText | undefined): Promise<string> {
    if (text === undefined) return '';
    const left = await text.end();
    isEnded ||= text.isEnded();
    return left;
  }

  /** Adds to a delta what is held back of the texts of a part. */
  async function flush(part: AnswerPart, into: Record<string, unknown>): Promise<void> {
    for (const [name, open] of texts) {
      if (open.part !== part || isEnded) continue;
      texts.delete(name);
      const left = await ended(open.text);
      if (left !== '') into[name] = `${(into[name] as string | undefined) ?? ''}${left}`;
    }
  }

  async function passCall(delta: ToolCallDelta, into: ToolCallDelta[]): Promise<void> {
    const { index, id, type, extra_content } = delta;
    const { name, arguments: piece } = delta.function ?? {};
    let call = calls.get(index);
    // Some servers give each call the index 0: another id with a name is another call.
    const isOther = call?.id !== undefined && !!id && id !== call.id && !!name;
    if (call !== undefined && isOther) {
      const left = await ended(call.text);
      if (left !== '') into.push({ index, function: { arguments: left } });
    }
    if (call === undefined || isOther) {
      if (calls.size >= MAX_CALLS) throw tooMuch();
      const isOwn = (type ?? 'function') !== 'function';
      call = { id: undefined, isOwn, text: isOwn ? undefined : guardText(guards, 'tool_call') };
      calls.set(index, call);
    }
    if (id) call.id = id;
    if (call.isOwn) return;
    const passed = piece === undefined || isEnded ? undefined : await pushed(call.text, piece);
    into.push({
      index,
      ...(id !== undefined && { id }),
      ...(type !== undefined && { type }),
      ...(delta.function && {
        function: {
          ...(name !== undefined && { name }),
          ...(passed !== undefined && { arguments: passed }),
        },
      }),
      ...(extra_content !== undefined && { extra_content }),
    });
  }

  return {
    isEnded: () => isEnded,
    /** The part of a delta that may leave now. */
    async next(delta: ChatDelta): Promise<ChatDelta> {
      const passed: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(delta)) {
        if (isEnded) break;
        if (value === null || (name === 'role' && value === 'assistant')) passed[name] = value;
        else if (name === 'tool_calls') {
          await flush('reasoning', passed);
          const into: ToolCallDelta[] = [];
          for (const call of value as readonly ToolCallDelta[]) if (!isEnded) await passCall(call, into);
          if (into.length > 0) passed[name] = into;
        } else if (typeof value === 'string' && name !== 'role') {
          const open = textNamed(name);
          if (open.part === 'answer' && value !== '') await flush('reasoning', passed);
          if (!isEnded) {
            const left = await pushed(open.text, value);
            passed[name] = `${(passed[name] as string | undefined) ?? ''}${left}`;
          }
        } else if (keeps.includes(name)) passed[name] = value;
      }
      return passed;
    },
    /** What is held back when the answer is over. Nothing once a guard has ended the answer. */
    async end(): Promise<ChatDelta> {
      const rest: Record<string, unknown> = {};
      await flush('reasoning', rest);
      await flush('answer', rest);
      const into: ToolCallDelta[] = [];
      for (const [index, { text }] of calls) {
        const left = isEnded ? '' : await ended(text);
        if (left !== '') into.push({ index, function: { arguments: left } });
      }
      if (into.length > 0) rest.tool_calls = into;
      return rest;
    },
  };
}

function tooMuch() {
  return ModelErrors.upstream('The answer of the model is too long.', { retryable: false });
}

/**
 * A streamed answer as guards let it through. Nothing leaves that a guard has not seen; the finish reason comes behind
 * what was held back, and is `content_filter` where a guard ended the answer: then the source is not read any further.
 */
export async function* guardChunks(
  guards: readonly GuardAtWork[],
  chunks: AsyncIterable<ChatChunk>,
  keeps: readonly string[],
): AsyncGenerator<ChatChunk, void> {
  const answer = guardAnswer(guards, keeps);
  let last: ChatChunk | undefined;
  let finish: ChatChunk['choices'][number]['finish_reason'];
  let usage: ChatChunk['usage'];
  let place = 0;
  for await (const chunk of chunks) {
    const leaving: { index: number; delta: ChatDelta; finish_reason: null }[] = [];
    for (const { index, delta, finish_reason: reason } of chunk.choices) {
      if (answer.isEnded()) break;
      place = index;
      const passed = await answer.next(delta);
      if (reason !== undefined && reason !== null) finish = reason;
      if (saysSomething(passed)) leaving.push({ index, delta: passed, finish_reason: null });
    }
    last = chunk;
    usage = chunk.usage ?? usage;
    if (leaving.length > 0) yield { ...chunk, choices: leaving };
    if (answer.isEnded()) break;
  }
  if (last === undefined) return;
  const { usage: _, ...head } = last;
  const rest = answer.isEnded() ? {} : await answer.end();
  if (saysSomething(rest)) {
    yield { ...head, choices: [{ index: place, delta: rest, finish_reason: null }] };
  }
  const reason = answer.isEnded() ? 'content_filter' : finish;
  if (reason === undefined) return;
  // Usage may have come in a chunk of its own: nothing leaves before the guards have seen what they held back.
  yield { ...head, ...(usage && { usage }), choices: [{ index: place, delta: {}, finish_reason: reason }] };
}

/**
 * A role alone says nothing: the writer of the stream adds it, and until then a refusal of the first text can still be
 * answered with a status.
 */
function saysSomething(delta: ChatDelta): boolean {
  return Object.entries(delta).some(
    ([name, value]) => name !== 'role' && value !== '' && value !== undefined && value !== null,
  );
}

/** A whole answer as guards let it through; the same as `guardChunks`, in one piece. */
export async function guardCompletion(
  guards: readonly GuardAtWork[],
  completion: ChatCompletion,
): Promise<ChatCompletion> {
  const choices: ChatCompletion['choices'][number][] = [];
  for (const { index, message, finish_reason } of completion.choices) {
    const answer = guardAnswer(guards, []);
    const passed = await answer.next(deltaOf(message));
    const rest = answer.isEnded() ? {} : await answer.end();
    choices.push({
      index,
      message: answer.isEnded() ? withoutCalls(joined(message, passed, rest)) : joined(message, passed, rest),
      finish_reason: answer.isEnded() ? 'content_filter' : finish_reason,
    });
  }
  return { ...completion, choices };
}

function deltaOf(message: ChatMessage): ChatDelta {
  const { tool_calls: _, content, role: __, ...rest } = message;
  const calls = callsOf(message);
  return {
    ...rest,
    content: content === null || content === undefined ? null : textOf(message),
    ...(calls.length > 0 && { tool_calls: calls.map((call, index) => ({ index, ...call })) }),
  };
}

/** A call in a provider's own form has no text that a guard could look at. */
function callsOf({ tool_calls: calls = [] }: ChatMessage): readonly ToolCall[] {
  return calls.filter((call: Partial<ToolCall>) => call.function !== undefined);
}

function joined(message: ChatMessage, passed: ChatDelta, rest: ChatDelta): ChatMessage {
  const texts: Record<string, unknown> = { ...passed };
  for (const [name, value] of Object.entries(rest)) {
    if (typeof value === 'string') texts[name] = `${(passed[name] as string | undefined) ?? ''}${value}`;
  }
  const pieces = [...(passed.tool_calls ?? []), ...(rest.tool_calls ?? [])];
  const calls = callsOf(message).map((call, at): ToolCall => {
    const own = pieces.filter(({ index }) => index === at);
    const given = own.map((piece) => piece.function?.arguments ?? '').join('');
    const { id, extra_content } = call;
    const name = call.function.name;
    return {
      id,
      type: 'function',
      function: { name, arguments: given },
      ...(extra_content !== undefined && { extra_content }),
    };
  });
  const content = (texts.content as string | null | undefined) ?? null;
  const { tool_calls: _, ...said } = texts;
  return { ...said, role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
}

function withoutCalls({ tool_calls: _, ...message }: ChatMessage): ChatMessage {
  return { ...message, content: message.content ?? '' };
}
