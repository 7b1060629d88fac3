import type protoLoader from '@grpc/proto-loader';
import { isJsonObject } from '../base/json-object.ts';
import {
  type EnumDescriptor,
  eachMessage,
  type FieldDescriptor,
  type FileDescriptor,
  fullName,
  type MessageDescriptor,
} from './descriptors.ts';
import {
  ConversionError,
  fromList,
  fromStruct,
  fromTimestamp,
  fromValue,
  type ListMessage,
  type StructMessage,
  type TimestampMessage,
  toList,
  toStruct,
  toTimestamp,
  toValue,
  type ValueMessage,
} from './well-known.ts';

/** How proto-loader has to load what a `MessageCodec` is made for. */
export const LOADER_OPTIONS: protoLoader.Options = {
  keepCase: true,
  longs: String,
  enums: String,
  arrays: true,
  objects: true,
};

/** A message as handlers see it. */
export type Message = Record<string, unknown>;

/** A message and which of its fields were there. */
export interface Decoded {
  readonly message: Message;
  /** Names of the fields that came over the wire; absent ones have their defaults in `message`. */
  readonly present: readonly string[];
}

/**
 * Turns messages of one type into plain objects and back. Names are the proto file's (`snake_case`). 64-bit integers
 * are text, also as keys of maps (numbers and big integers are taken, too), enums their names, bytes a Buffer,
 * `Struct`, `Value` and `ListValue` plain JSON, `Timestamp` RFC 3339 (a `Date` is taken, too). Absent fields have their
 * default; absent messages, members of a `oneof` and `optional` fields are absent. What a message does not declare is
 * left out when it is encoded.
 */
export interface MessageCodec {
  /** @throws ConversionError naming the field, or the loader's error for bytes that are no such message. */
  decode(bytes: Buffer): Decoded;
  /** @throws ConversionError naming the field, or the loader's error for a member of a wrong type. */
  encode(message: unknown): Buffer;
}

/** Makes the codec of the message `name` (full, without a dot before it). `files` are linked. */
export function createMessageCodec(
  type: protoLoader.MessageTypeDefinition<object, object>,
  name: string,
  files: readonly FileDescriptor[],
): MessageCodec {
  const { decode, encode } = WELL_KNOWN[`.${name}`] ?? planOf(name, typesOf(files), new Map());
  return {
    decode(bytes) {
      const raw = type.deserialize(bytes) as Message;
      const present = Object.keys(raw).filter((field) => !isEmpty(raw[field]));
      return { message: decode(raw as never) as Message, present };
    },
    encode: (message) => type.serialize(encode(message ?? {}) as object),
  };
}

/** The types that fields may have, by their full names with a leading dot. */
interface Types {
  readonly messages: ReadonlyMap<string, MessageDescriptor>;
  readonly enums: ReadonlyMap<string, EnumDescriptor>;
}

function typesOf(files: readonly FileDescriptor[]): Types {
  const messages = new Map<string, MessageDescriptor>();
  const enums = new Map<string, EnumDescriptor>();
  for (const file of files) {
    for (const one of file.enumType ?? []) enums.set(`.${fullName(file.package, one.name)}`, one);
  }
  eachMessage(files, (name, message) => {
    messages.set(`.${name}`, message);
    for (const one of message.enumType ?? []) enums.set(`.${name}.${one.name}`, one);
  });
  return { messages, enums };
}

/** The loader fills in empty lists and maps. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return (
    typeof value === 'object' && value !== null && !Buffer.isBuffer(value) && Object.keys(value).length === 0
  );
}

/** How the value of a field is turned into what handlers see and back. */
interface Conversion {
  readonly decode: (value: never) => unknown;
  readonly encode: (value: unknown) => unknown;
}

const WELL_KNOWN: Readonly<Record<string, Conversion>> = {
  '.google.protobuf.Struct': { decode: (v: StructMessage) => fromStruct(v), encode: (v) => toStruct(v) },
  '.google.protobuf.Value': { decode: (v: ValueMessage) => fromValue(v), encode: (v) => toValue(v) },
  '.google.protobuf.ListValue': { decode: (v: ListMessage) => fromList(v), encode: (v) => toList(v) },
  '.google.protobuf.Timestamp': {
    decode: (v: TimestampMessage) => fromTimestamp(v),
    encode: (v) => toTimestamp(v),
  },
};

/** The loader does not take big integers. */
const LONG: Conversion = {
  decode: (value) => value,
  encode: (value) => (typeof value === 'bigint' ? value.toString() : value),
};
const LONG_TYPES = new Set(['TYPE_INT64', 'TYPE_UINT64', 'TYPE_SINT64', 'TYPE_FIXED64', 'TYPE_SFIXED64']);

/** How a key of a map is turned into what handlers see and back. */
interface KeyConversion {
  readonly decode: (key: string) => string;
  readonly encode: (key: string) => string;
}

const AS_IT_IS: Conversion = { decode: (value) => value, encode: (value) => value };
const SAME_KEY: KeyConversion = { decode: (key) => key, encode: (key) => key };

/** The loader makes eight characters of a key of 64 bits, the least significant byte first, and takes its digits. */
function longKey(read: (bytes: Buffer) => bigint): KeyConversion {
  const decode = (key: string) => (key.length === 8 ? read(Buffer.from(key, 'latin1')).toString() : key);
  return { decode, encode: (key) => key };
}
const SIGNED_KEY = longKey((bytes) => bytes.readBigInt64LE());
const UNSIGNED_KEY = longKey((bytes) => bytes.readBigUInt64LE());
/** To the loader any text but the empty one is true. */
const BOOL_KEY: KeyConversion = { decode: (key) => key, encode: (key) => (key === 'false' ? '' : key) };

/** The others are as they should be. */
const KEYS: Readonly<Record<string, KeyConversion>> = {
  TYPE_INT64: SIGNED_KEY,
  TYPE_SINT64: SIGNED_KEY,
  TYPE_SFIXED64: SIGNED_KEY,
  TYPE_UINT64: UNSIGNED_KEY,
  TYPE_FIXED64: UNSIGNED_KEY,
  TYPE_BOOL: BOOL_KEY,
};

/** A field whose values, or keys, are converted. */
interface ConvertedField {
  readonly name: string;
  readonly shape: 'one' | 'list' | 'map';
  readonly conversion: Conversion;
  readonly keys: KeyConversion;
  /** False where decoding changes nothing. */
  readonly decodes: boolean;
}

/** What is to do with the messages of one type. */
class Plan {
  readonly fields: ConvertedField[] = [];
  /** Values of absent fields. */
  readonly defaults: (readonly [name: string, value: unknown])[] = [];

  decode = (message: Message): Message => {
    for (const { name, shape, conversion, keys, decodes } of this.fields) {
      if (decodes && message[name] != null) {
        const decode = conversion.decode as (value: unknown) => unknown;
        message[name] = convert(name, shape, message[name], decode, keys.decode);
      }
    }
    for (const [name, value] of this.defaults) if (message[name] === undefined) message[name] = value;
    return message;
  };

  encode = (message: unknown): unknown => {
    if (!isJsonObject(message)) throw new ConversionError('must be an object');
    if (this.fields.length === 0) return message;
    const copy: Message = { ...(message as Message) };
    for (const { name, shape, conversion, keys } of this.fields) {
      const value = copy[name];
      // An absent `Value` is no null: absent is only what was not said.
      if (value === undefined || (value === null && conversion !== WELL_KNOWN['.google.protobuf.Value'])) {
        delete copy[name];
      } else copy[name] = convert(name, shape, value, conversion.encode, keys.encode);
    }
    return copy;
  };
}

function convert(
  name: string,
  shape: ConvertedField['shape'],
  value: unknown,
  change: (value: unknown) => unknown,
  changeKey: (key: string) => string,
): unknown {
  try {
    if (shape === 'one') return change(value);
    if (shape === 'list') {
      if (!Array.isArray(value)) throw new ConversionError('must be a list');
      return value.map((item) => change(item));
    }
    if (typeof value !== 'object' || value === null) throw new ConversionError('must be an object');
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [changeKey(key), change(item)]));
  } catch (error) {
    throw error instanceof ConversionError ? error.within(name) : error;
  }
}

function planOf(name: string, types: Types, known: Map<string, Plan>): Plan {
  const before = known.get(name);
  if (before !== undefined) return before;
  const plan = new Plan();
  // Before its fields are looked at: a message may hold itself.
  known.set(name, plan);
  const message = types.messages.get(`.${name}`);
  if (message === undefined) throw new Error(`no file declares the message ${name}`);
  for (const field of message.field ?? []) {
    const entry = types.messages.get(field.typeName ?? '');
    const isMap = entry?.options?.mapEntry === true;
    const shape = isMap ? 'map' : field.label === 'LABEL_REPEATED' ? 'list' : 'one';
    const valueField = isMap ? entry.field?.find((one) => one.name === 'value') : field;
    const converted = valueField === undefined ? undefined : conversionOf(valueField, types, known);
    const keyType = isMap ? entry.field?.find((one) => one.name === 'key')?.type : undefined;
    const keys = KEYS[keyType ?? ''] ?? SAME_KEY;
    if (converted !== undefined || keys !== SAME_KEY) {
      const conversion = converted ?? AS_IT_IS;
      const decodes = conversion !== LONG || keys !== SAME_KEY;
      plan.fields.push({ name: field.name, shape, conversion, keys, decodes });
    }
    const isPlain = shape === 'one' && field.oneofIndex === undefined;
    const value = isPlain ? defaultOf(field, types) : undefined;
    if (value !== undefined) plan.defaults.push([field.name, value]);
  }
  return plan;
}

function conversionOf(
  field: FieldDescriptor,
  types: Types,
  known: Map<string, Plan>,
): Conversion | undefined {
  if (LONG_TYPES.has(field.type)) return LONG;
  if (field.type !== 'TYPE_MESSAGE') return undefined;
  return WELL_KNOWN[field.typeName!] ?? planOf(field.typeName!.slice(1), types, known);
}

const EMPTY_BYTES = Buffer.alloc(0);

function defaultOf({ type, typeName }: FieldDescriptor, { enums }: Types): unknown {
  switch (type) {
    case 'TYPE_STRING':
      return '';
    case 'TYPE_BOOL':
      return false;
    case 'TYPE_BYTES':
      return EMPTY_BYTES;
    case 'TYPE_ENUM':
      return enums.get(typeName!)?.value?.[0]?.name;
    case 'TYPE_MESSAGE':
    case 'TYPE_GROUP':
      return undefined;
    default:
      return LONG_TYPES.has(type) ? '0' : 0;
  }
}
