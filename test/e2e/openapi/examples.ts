import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { ANY_TEXT } from '../../../foundation/base/schema-example.ts';
import type { Content, Operation, Schema } from './contract.ts';

/** A content type of an operation with what the document shows of it. */
export interface Shown extends Content {
  /** `GET /v1/me 200 application/json`. */
  readonly where: string;
  readonly key: string;
  /** Of an answer. */
  readonly status?: string;
  readonly type: string;
}

/** What an operation takes and answers when it succeeds, by content type. */
export function shownBy({ key, requestBody, responses }: Operation): readonly Shown[] {
  const contents = (status: string | undefined, content: Readonly<Record<string, Content>> = {}) =>
    Object.entries(content).map(([type, one]) => ({
      ...one,
      key,
      type,
      where: `${key} ${status ?? 'body'} ${type}`,
      ...(status !== undefined && { status }),
    }));
  const successes = Object.entries(responses).filter(([status]) => status < '400');
  return [
    ...contents(undefined, requestBody?.content),
    ...successes.flatMap(([status, { content }]) => contents(status, content)),
  ];
}

/** Where an example says nothing: texts that were made of a type alone. */
export function emptyPlaces(example: unknown, path = ''): readonly string[] {
  if (typeof example !== 'object' || example === null) return example === ANY_TEXT ? [path] : [];
  return Object.entries(example).flatMap(([name, value]) => emptyPlaces(value, `${path}/${name}`));
}

/**
 * Where an example is of another kind than what an operation really answered: an id where there is a time, a text where
 * there is an id; of an enumeration or a flag, a value that never came. Members that the answers leave out, or that are
 * null in the one or the other, say nothing.
 */
export function unlikePlaces(
  example: unknown,
  real: readonly unknown[],
  schema: Schema = {},
  path = '',
): readonly string[] {
  const known = real.filter((value) => value !== undefined && value !== null);
  if (known.length === 0 || example === null) return [];
  const { properties = {}, items, enum: isOneOf } = schema as Members;
  const kindOf = isOneOf === undefined ? roughKindOf : String;
  const kinds = new Set(known.map(kindOf));
  if (!kinds.has(kindOf(example)))
    return [`${path}: ${kindOf(example)}, and really ${[...kinds].join(' or ')}`];
  if (Array.isArray(example)) {
    const all = known.flatMap((value) => (Array.isArray(value) ? value : []));
    return example.flatMap((item) => unlikePlaces(item, all, items, `${path}/*`));
  }
  if (typeof example !== 'object') return [];
  return Object.entries(example).flatMap(([name, value]) =>
    unlikePlaces(
      value,
      known.map((one) => (one as Record<string, unknown>)[name]),
      properties[name],
      `${path}/${name}`,
    ),
  );
}

const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['an id', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/],
  ['a time', /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/],
  ['a date', /^\d{4}-\d{2}-\d{2}$/],
  ['an address', /^https?:\/\//],
];

function roughKindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return typeof value;
  return KINDS.find(([, pattern]) => pattern.test(value))?.[0] ?? 'a text';
}

/** The data of a stream's events by their names; what is JSON is read. */
export function eventsIn(stream: string): Readonly<Record<string, readonly unknown[]>> {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(stream);
  const byName = Map.groupBy(events, ({ event = 'message' }) => event);
  return Object.fromEntries(
    [...byName].map(([name, all]) => [
      name,
      all.map(({ data }) => (/^[{"]/.test(data) ? JSON.parse(data) : data)),
    ]),
  );
}

/** The same of streams: each event of the example has really come, of this operation or of another one. */
export function unlikeEvents(
  example: string,
  own: readonly string[],
  all: readonly string[],
): readonly string[] {
  const shown = eventsIn(example);
  return Object.entries(shown).flatMap(([name, data]) => {
    const real = [own, all].map((streams) => streams.flatMap((stream) => eventsIn(stream)[name] ?? []));
    const known = real.find((events) => events.length > 0);
    return known === undefined ? [`${name}: no such event came`] : unlikePlaces(data, [known], {}, name);
  });
}

/** The names of members that may hold any JSON, in a schema. Open objects with members of their own are none. */
export function untypedMembers(schema: Schema, name = ''): readonly string[] {
  const { properties = {}, items, anyOf = [], additionalProperties } = schema as Members;
  const isOpen = additionalProperties === true || (additionalProperties && isAnything(additionalProperties));
  if (isAnything(schema) || (isOpen && Object.keys(properties).length === 0)) return [name];
  return [
    ...Object.entries(properties).flatMap(([member, of]) => untypedMembers(of, member)),
    ...[...anyOf, ...(items === undefined ? [] : [items])].flatMap((of) => untypedMembers(of, name)),
    ...(typeof additionalProperties === 'object' ? untypedMembers(additionalProperties, name) : []),
  ];
}

interface Members {
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}

function isAnything(schema: Schema): boolean {
  return !['type', 'enum', 'anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in schema);
}
