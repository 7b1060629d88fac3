import { isJsonObject } from 'agent-gateway';
import {
  type ChatChunk,
  type ChatDelta,
  type ChatMessage,
  type Guard,
  redactValue,
  type StreamRedactor,
  type TextOwner,
  type ToolCall,
  type ToolCallDelta,
} from '../../../agent-engine/contract.ts';
import { blocked, MAX_ANSWER, tooLong } from './guarded-answer.ts';

type Choice = ChatChunk['choices'][number];

/** Passes a stream through the guardrails, and collects what was sent. */
export type GuardedChunks = ReturnType<typeof createGuardedChunks>;

/** Tool calls that one answer may have: as many as a request may return. */
const MAX_CALLS = 1024;
/** Members of deltas with a text of their own; providers have a handful. */
const MAX_MEMBERS = 32;
/** Those of which the message of the answer has the whole text, beside `content`. */
const KEPT: ReadonlySet<string> = new Set(['refusal', 'reasoning_content']);

interface PendingCall {
  id: string;
  name: string;
  /** Arguments of a function, or the input of a custom tool. */
  text: string;
  extra: ToolCall['extra_content'];
  /** OpenAI's type `custom`. */
  isCustom: boolean;
  readonly redactor: StreamRedactor;
}

/** A piece of a call as providers may send it. */
type CallPiece = ToolCallDelta & {
  readonly custom?: { readonly name?: unknown; readonly input?: unknown };
};

/**
 * The guardrails of one stream with one answer: credentials are replaced even where chunks split them, an unsafe answer
 * throws `guard.output-blocked`, and one that is too long `model.upstream`. Log probabilities are left out, since they
 * repeat the text token by token.
 */
export function createGuardedChunks(guard: Guard, secretPrompt: string | undefined, owner: TextOwner) {
  const check = guard.checkOutput(secretPrompt, owner);
  const texts = new Map<string, { readonly redactor: StreamRedactor; sent: string }>();
  const calls = new Map<number, PendingCall>();
  const content = guard.redactStream();
  let said = '';
  const details: unknown[] = [];
  let size = 0;
  let hasRole = false;
  let finish: Choice | undefined;

  function grow(characters: number): void {
    size += characters;
    if (size > MAX_ANSWER) throw tooLong();
  }

  function speak(text: string): string {
    grow(text.length);
    const finding = check.push(text);
    if (finding !== undefined) throw blocked(finding.reason);
    const safe = content.push(text);
    said += safe;
    return safe;
  }

  function callOf({ index, id, function: called, custom }: CallPiece): PendingCall {
    let call = calls.get(index);
    if (call === undefined) {
      if (calls.size >= MAX_CALLS) throw tooLong();
      const redactor = guard.redactStream();
      call = { id: '', name: '', text: '', extra: undefined, isCustom: false, redactor };
      calls.set(index, call);
    }
    if (id !== undefined) {
      grow(id.length);
      call.id = id;
    }
    call.isCustom ||= isJsonObject(custom);
    const name = called?.name ?? custom?.name;
    if (typeof name === 'string') {
      grow(name.length);
      call.name += name;
    }
    return call;
  }

  function guardCall(delta: CallPiece): CallPiece {
    const text = textIn(delta);
    const name = delta.function?.name ?? delta.custom?.name;
    const isMore = delta.id === undefined && name === undefined && text !== undefined;
    // `extra_content`, which the provider wants back with the call, stays unchanged. A further piece of arguments has
    // only the index besides.
    const { extra_content, ...own } = delta;
    const named = isMore ? own : (redactValue(withoutText(own), guard) as typeof own);
    const call = callOf(named);
    if (call.extra === undefined && extra_content !== undefined) {
      grow(JSON.stringify(extra_content).length);
      call.extra = extra_content;
    }
    const extra = extra_content === undefined ? {} : { extra_content };
    if (text === undefined) return { ...named, ...extra };
    grow(text.length);
    const safe = call.redactor.push(text);
    call.text += safe;
    return { ...withText(named, safe), ...extra };
  }

  function guardText(name: string, text: string): string {
    let open = texts.get(name);
    if (open === undefined) {
      if (texts.size >= MAX_MEMBERS) throw tooLong();
      open = { redactor: guard.redactStream(), sent: '' };
      texts.set(name, open);
    }
    const safe = open.redactor.push(text);
    if (KEPT.has(name)) {
      grow(text.length);
      open.sent += safe;
    }
    return safe;
  }

  function keepDetails(given: readonly unknown[]): void {
    grow(JSON.stringify(given).length);
    for (const detail of given) details.push(detail);
  }

  /** Members that are not spoken text: reasoning, tool calls, and what providers invent. */
  function guardMember(name: string, value: unknown): unknown {
    if (value === null) return value;
    if (name === 'content') return typeof value === 'string' ? speak(value) : redactValue(value, guard);
    if (name === 'tool_calls') return (value as readonly ToolCallDelta[]).map(guardCall);
    const guarded = typeof value === 'string' ? guardText(name, value) : redactValue(value, guard);
    if (name === 'reasoning_details' && Array.isArray(guarded)) keepDetails(guarded);
    return guarded;
  }

  function guardDelta(delta: ChatDelta): ChatDelta {
    const guarded: Record<string, unknown> = {};
    for (const name in delta) {
      // Some servers repeat it in each chunk, and clients join the texts of all chunks.
      if (name === 'role' && hasRole) continue;
      guarded[name] = guardMember(name, delta[name]);
    }
    hasRole ||= guarded.role !== undefined;
    return guarded;
  }

  /** Guards the members other than the delta: `finish_reason`, and additions of providers. Most chunks have neither. */
  function guardChoice(choice: Choice): Choice {
    const { delta, ...rest } = choice;
    const isPlain = Object.values(rest).every((value) => typeof value === 'number' || value === null);
    return isPlain ? choice : { ...(redactValue(rest, guard) as typeof rest), delta };
  }

  /**
   * The part of a chunk that may be sent now; `undefined` for nothing. The `finish_reason` is held back until `end`.
   */
  function next(choices: ChatChunk['choices']): ChatChunk['choices'] | undefined {
    const leaving: Choice[] = [];
    for (const { logprobs: _, ...given } of choices) {
      const choice = guardChoice(given);
      const delta = guardDelta(choice.delta);
      const { finish_reason: reason } = choice;
      if (reason !== undefined && reason !== null) finish = { ...choice, delta: {} };
      if (saysSomething(delta)) leaving.push({ ...choice, delta, finish_reason: null });
    }
    return leaving.length === 0 ? undefined : leaving;
  }

  /** The text that the redactors held back, as one delta. */
  function rest(): ChatDelta {
    const delta: Record<string, unknown> = {};
    const finding = check.end();
    if (finding !== undefined) throw blocked(finding.reason);
    const text = content.end();
    said += text;
    if (text !== '') delta.content = text;
    for (const [name, open] of texts) {
      const held = open.redactor.end();
      open.sent += held;
      if (held !== '') delta[name] = held;
    }
    const held = [...calls].flatMap(([index, call]) => {
      const safe = call.redactor.end();
      call.text += safe;
      return safe === '' ? [] : [withText({ index, ...(call.isCustom && { custom: {} }) }, safe)];
    });
    if (held.length > 0) delta.tool_calls = held;
    return delta;
  }

  return {
    next,
    /** The choices that were held back, the `finish_reason` last. */
    end(): readonly ChatChunk['choices'][] {
      const delta = rest();
      const index = finish?.index ?? 0;
      const held = saysSomething(delta) ? [[{ index, delta, finish_reason: null }]] : [];
      return finish === undefined ? held : [...held, [finish]];
    },
    /** The answer as it was sent, once `end` was called. */
    message(): ChatMessage {
      const refused = texts.get('refusal')?.sent ?? '';
      const thoughts = texts.get('reasoning_content')?.sent ?? '';
      return {
        role: 'assistant',
        content: said === '' && (calls.size > 0 || refused !== '') ? null : said,
        ...(refused !== '' && { refusal: refused }),
        ...(calls.size > 0 && { tool_calls: [...calls.values()].map(toToolCall) }),
        ...(thoughts !== '' && { reasoning_content: thoughts }),
        ...(details.length > 0 && { reasoning_details: details }),
      };
    },
  };
}

/** What a piece adds to the text of its call, which is redacted as a stream of its own. */
function textIn({ function: called, custom }: CallPiece): string | undefined {
  const text = called?.arguments ?? custom?.input;
  return typeof text === 'string' ? text : undefined;
}

function withoutText(piece: CallPiece): CallPiece {
  if (isJsonObject(piece.custom)) {
    const { input: _, ...custom } = piece.custom;
    return { ...piece, custom };
  }
  if (piece.function === undefined) return piece;
  const { arguments: _, ...called } = piece.function;
  return { ...piece, function: called };
}

function withText(piece: CallPiece, text: string): CallPiece {
  if (isJsonObject(piece.custom)) return { ...piece, custom: { ...piece.custom, input: text } };
  return { ...piece, function: { ...piece.function, arguments: text } };
}

function toToolCall({ id, name, text, extra, isCustom }: PendingCall): ToolCall {
  // As in a plain answer, whose calls are in any form as well.
  if (isCustom) return { id, type: 'custom', custom: { name, input: text } } as unknown as ToolCall;
  const call = { id, type: 'function', function: { name, arguments: text } } as const;
  return extra === undefined ? call : { ...call, extra_content: extra };
}

/** False for a delta without content. */
function saysSomething(delta: ChatDelta): boolean {
  for (const name in delta) if (delta[name] !== '' && delta[name] !== undefined) return true;
  return false;
}
