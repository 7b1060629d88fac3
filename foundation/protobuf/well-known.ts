import { isJsonObject } from '../base/json-object.ts';

/** A JSON value, as `google.protobuf.Value` carries it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Objects and lists may lie so deep in each other; Protocol Buffers itself stops at 100 messages, two for each. */
const MAX_DEPTH = 40;

/** A value of a message that has no JSON form, or a JSON value that has no message. Says why, not what the value is. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
  readonly why: string;
  /** `note.extra`; empty for the value itself. */
  readonly path: string;

  constructor(why: string, path = '') {
    super(path === '' ? why : `${path} ${why}`);
    this.why = why;
    this.path = path;
  }

  /** The same, seen from the message that has the value as its field `name`. */
  within(name: string): ConversionError {
    return new ConversionError(this.why, this.path === '' ? name : `${name}.${this.path}`);
  }
}

/** `google.protobuf.Value` as the loader decodes it: at most one member is there. */
export interface ValueMessage {
  readonly nullValue?: unknown;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: StructMessage;
  readonly listValue?: ListMessage;
}

/** `google.protobuf.Struct` as the loader decodes it. */
export interface StructMessage {
  readonly fields?: Readonly<Record<string, ValueMessage>>;
}

/** `google.protobuf.ListValue` as the loader decodes it. */
export interface ListMessage {
  readonly values?: readonly ValueMessage[];
}

/** `google.protobuf.Timestamp` as the loader decodes it. */
export interface TimestampMessage {
  readonly seconds?: string | number;
  readonly nanos?: number;
}

/** A value without any member is null. @throws ConversionError for NaN, infinities, and what is nested too deeply. */
export function fromValue(value: ValueMessage, depth = 0): Json {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.numberValue !== undefined) {
    if (!Number.isFinite(value.numberValue)) throw new ConversionError('holds a number that JSON has not');
    return value.numberValue;
  }
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.structValue != null) return fromStruct(value.structValue, depth);
  if (value.listValue != null) return fromList(value.listValue, depth);
  return null;
}

/** @throws ConversionError like `fromValue`. */
export function fromStruct({ fields = {} }: StructMessage, depth = 0): { readonly [name: string]: Json } {
  checkDepth(depth);
  const object: Record<string, Json> = {};
  for (const name of Object.keys(fields)) assign(object, name, fromValue(fields[name]!, depth + 1));
  return object;
}

/** @throws ConversionError like `fromValue`. */
export function fromList({ values = [] }: ListMessage, depth = 0): readonly Json[] {
  checkDepth(depth);
  return values.map((value) => fromValue(value, depth + 1));
}

/**
 * What `JSON.stringify` would write: `toJSON` is asked (dates become RFC 3339), numbers that are not finite become
 * null, and so does `undefined`, but as a member it is left out. Big integers become text.
 *
 * @throws ConversionError for what is nested too deeply.
 */
export function toValue(given: unknown, depth = 0): ValueMessage {
  const value = plain(given);
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'number':
      return Number.isFinite(value) ? { numberValue: value } : NULL;
    case 'boolean':
      return { boolValue: value };
    case 'bigint':
      return { stringValue: value.toString() };
    case 'object':
      if (value === null) return NULL;
      return Array.isArray(value)
        ? { listValue: toList(value, depth) }
        : { structValue: toStruct(value, depth) };
    default:
      return NULL;
  }
}

const NULL: ValueMessage = Object.freeze({ nullValue: 0 });

/** @throws ConversionError for what is nested too deeply, or is no object. */
export function toStruct(given: unknown, depth = 0): StructMessage {
  checkDepth(depth);
  const object = plain(given);
  if (!isJsonObject(object)) throw new ConversionError('must be an object');
  const fields: Record<string, ValueMessage> = {};
  for (const [name, member] of Object.entries(object)) {
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
    assign(fields, name, toValue(member, depth + 1));
  }
  return { fields };
}

/** @throws ConversionError for what is nested too deeply, or is no list. */
export function toList(given: unknown, depth = 0): ListMessage {
  checkDepth(depth);
  if (!Array.isArray(given)) throw new ConversionError('must be a list');
  return { values: given.map((value) => toValue(value, depth + 1)) };
}

const NANOS = 1_000_000_000;
const MILLISECOND = 1_000_000;
/** The years 1 to 9999, which RFC 3339 and `Timestamp` can express. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

/**
 * RFC 3339 in UTC, with milliseconds, or micro- or nanoseconds where it has them. @throws ConversionError out of range.
 */
export function fromTimestamp({ seconds = 0, nanos = 0 }: TimestampMessage): string {
  const whole = Number(seconds);
  if (!(whole >= FIRST_SECOND && whole <= LAST_SECOND) || nanos < 0 || nanos >= NANOS) {
    throw new ConversionError('is no time of the years 1 to 9999');
  }
  const upToSeconds = new Date(whole * 1000).toISOString().slice(0, -5);
  let fraction = nanos.toString().padStart(9, '0');
  while (fraction.length > 3 && fraction.endsWith('000')) fraction = fraction.slice(0, -3);
  return `${upToSeconds}.${fraction}Z`;
}

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;

/** A `Date` or RFC 3339; what is finer than nanoseconds is cut off. @throws ConversionError for anything else. */
export function toTimestamp(given: unknown): TimestampMessage {
  if (given instanceof Date) return ofDate(given);
  const match = typeof given === 'string' ? RFC_3339.exec(given) : null;
  if (match === null) throw new ConversionError('must be a Date or an RFC 3339 time');
  const [, year, month, day, hours, minutes, seconds, fraction = '', zone] = match as unknown as string[];
  const at = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}${zone!.toUpperCase()}`);
  // `Date` would make the 31st of February a day in March.
  const isDay = Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number.isNaN(at) || !isDay) throw new ConversionError('must be an RFC 3339 time');
  return inRange(at / 1000, Number(fraction.padEnd(9, '0')));
}

function ofDate(date: Date): TimestampMessage {
  const milliseconds = date.getTime();
  if (Number.isNaN(milliseconds)) throw new ConversionError('is an invalid Date');
  const seconds = Math.floor(milliseconds / 1000);
  return inRange(seconds, (milliseconds - seconds * 1000) * MILLISECOND);
}

function inRange(seconds: number, nanos: number): TimestampMessage {
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND) {
    throw new ConversionError('is no time of the years 1 to 9999');
  }
  return { seconds, nanos };
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value) : value;
}

/** A member named `__proto__` is a member like any other. */
function assign<T>(object: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function checkDepth(depth: number): void {
  if (depth >= MAX_DEPTH) throw new ConversionError(`is nested deeper than ${MAX_DEPTH} levels`);
}
