import { isJsonObject } from 'agent-gateway';
import type { ChatChunk, ChatDelta, ChatMessage, ToolCall, ToolCallDelta } from '../../contract.ts';
import { jsonIn } from '../json-text.ts';
import { createCallIds } from './call-ids.ts';

/*
 * Servers that say they speak OpenAI's format write parts of it in forms of their own: content in parts, arguments that
 * are no text, choices without an index, calls without ids or types, pieces of calls that repeat the id and the name or
 * set them to null. Here they get the form that all readers of the port rely on, and that OpenAI's clients demand.
 */

type Forms = Readonly<Record<string, unknown>>;

/** Calls of tools in one answer; more are a fault of the server. */
const MOST_CALLS = 1024;

/** A call of which pieces still come. */
interface OpenCall {
  readonly index: number;
  /** The server's own; empty for none. */
  readonly id: string;
  name: string;
  /** To see where the next call begins, where ids do not say it. */
  arguments: string;
}

/**
 * Brings the choices of one stream into OpenAI's form; undefined where one is malformed. A choice beyond the first was
 * not asked for, and is left out. Choices in the right form stay the same object.
 *
 * @param newId makes an id for a call that has none, or that has the id of another call
 */
export function createSoundChoices(newId: () => string) {
  const calls: OpenCall[] = [];
  const byIndex = new Map<unknown, OpenCall>();
  const idOf = createCallIds(newId);

  /** The call that a piece goes on with; undefined for the first piece of a call. */
  function knownCall(index: unknown, id: string, name: string, more: string): OpenCall | undefined {
    const known = byIndex.get(index);
    if (known === undefined || name === '') return known;
    // Servers that give each call the same index, or none, tell them apart by their ids, or not at all.
    const isOther =
      id === '' || known.id === ''
        ? /^\s*\{/.test(more) && isJsonObject(jsonIn(known.arguments))
        : id !== known.id;
    return isOther ? undefined : known;
  }

  function begin(index: unknown, id: string): OpenCall {
    const call = { index: calls.length, id, name: '', arguments: '' };
    calls.push(call);
    byIndex.set(index, call);
    return call;
  }

  function soundPiece(piece: Forms): ToolCallDelta {
    const { index, id: given, function: called, ...rest } = piece;
    const { name: named, arguments: written, ...others } = asObject(called);
    const [id, name, more] = [textOf(given), textOf(named), argumentsOf(written)];
    const known = knownCall(index, id, name, more ?? '');
    const call = known ?? begin(index, id);
    call.arguments += more ?? '';
    const isNamed = name !== '' && name !== call.name;
    if (isNamed) call.name += name;
    return {
      index: call.index,
      ...(known === undefined && { id: idOf(id) }),
      ...rest,
      ...(known === undefined && isJsonObject(called) && { type: typeOf(piece) }),
      ...(isJsonObject(called) && {
        function: { ...(isNamed && { name }), ...(more !== undefined && { arguments: more }), ...others },
      }),
    };
  }

  function soundDelta(delta: Forms): ChatDelta | undefined {
    const { tool_calls: given } = delta;
    if (given === undefined || given === null) return soundText(delta);
    if (!isListOfObjects(given)) return undefined;
    const tool_calls = given.map(soundPiece);
    return calls.length > MOST_CALLS ? undefined : soundText({ ...delta, tool_calls });
  }

  function soundChoice(choice: unknown): ChatChunk['choices'][number] | undefined {
    if (!isJsonObject(choice)) return undefined;
    const given = choice as unknown as ChatChunk['choices'][number];
    // Some servers leave out the delta of a choice that only reports its end, or a filter.
    const delta: unknown = given.delta ?? {};
    const sound = isJsonObject(delta) ? soundDelta(delta) : undefined;
    const index = given.index ?? 0;
    return sound === given.delta && index === given.index
      ? given
      : sound && { ...given, index, delta: sound };
  }

  return (choices: readonly unknown[]): ChatChunk['choices'] | undefined => {
    if (isPieceOfText(choices)) return choices;
    const sound: ChatChunk['choices'][number][] = [];
    for (const choice of choices) {
      const one = soundChoice(choice);
      if (one === undefined) return undefined;
      if (!isFurther(one)) sound.push(one);
    }
    const isSame = sound.length === choices.length && sound.every((one, place) => one === choices[place]);
    return isSame ? (choices as ChatChunk['choices']) : sound;
  };
}

/** True of a choice beyond the first, which was not asked for. */
export function isFurther(choice: { readonly index?: unknown } | null): boolean {
  return typeof choice?.index === 'number' && choice.index > 0;
}

/** True of what most chunks are: a piece of text in the right form. */
function isPieceOfText(choices: readonly unknown[]): choices is ChatChunk['choices'] {
  const choice = choices[0] as { readonly index?: unknown; readonly delta?: Forms | null } | null | undefined;
  const delta = choices.length === 1 && choice?.index === 0 ? choice.delta : undefined;
  if (typeof delta?.content !== 'string') return false;
  return (delta.refusal ?? delta.tool_calls ?? undefined) === undefined;
}

/**
 * The same for the message of a plain answer, whose role is always the assistant's. A call in a server's own form,
 * which has no function, stays as it is.
 */
export function soundMessage(message: object, newId: () => string): ChatMessage | undefined {
  const sound = soundText({ ...message, role: 'assistant' } as Forms) as ChatMessage | undefined;
  const calls: unknown = sound?.tool_calls ?? undefined;
  if (sound === undefined || calls === undefined) return sound;
  if (!isListOfObjects(calls)) return undefined;
  const idOf = createCallIds(newId);
  const tool_calls = calls.map((call) => {
    const { id, function: called } = call;
    const own = { ...call, id: idOf(textOf(id)) };
    if (!isJsonObject(called)) return own;
    const written = argumentsOf(called.arguments) ?? '';
    const sound = { ...called, name: textOf(called.name), arguments: written };
    return { ...own, type: typeOf(call), function: sound };
  });
  return { ...sound, tool_calls: tool_calls as unknown as readonly ToolCall[] };
}

/**
 * Members that are text or nothing, in a delta as in a message: parts of content are joined, and those that are
 * thoughts become `reasoning_content`. Undefined where the content is something else.
 */
function soundText<T extends Forms>(said: T): T | undefined {
  const { content, refusal } = said;
  const sound = isTextOrNone(refusal) ? said : { ...said, refusal: null };
  if (isTextOrNone(content)) return sound;
  if (!isListOfObjects(content)) return undefined;
  const thought = content.map(({ thinking }) => textIn(thinking)).join('');
  return {
    ...sound,
    content: content.map(({ text }) => textOf(text)).join(''),
    ...(thought !== '' && sound.reasoning_content === undefined && { reasoning_content: thought }),
  };
}

/** A text, or the texts of parts. */
function textIn(value: unknown): string {
  return isListOfObjects(value) ? value.map(({ text }) => textOf(text)).join('') : textOf(value);
}

/** Arguments as JSON text; undefined for none. */
function argumentsOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Servers that know one type of calls leave it out; calls of a type of their own have it. */
const typeOf = ({ type }: Forms) => (textOf(type) || 'function') as 'function';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const isTextOrNone = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string';

const asObject = (value: unknown): Forms => (isJsonObject(value) ? value : {});

const isListOfObjects = (value: unknown): value is readonly Forms[] =>
  Array.isArray(value) && value.every(isJsonObject);
