import { isJsonObject } from '../base/json-object.ts';
import { isOfferName, OFFER_PATTERN } from '../base/offers.ts';
import {
  ADDRESS_PATTERN,
  DURATION_PATTERN,
  formatDuration,
  formatSize,
  parseAddress,
  parseDuration,
  parseSize,
  SIZE_PATTERN,
} from './units.ts';

/** The kinds of value that a setting can have. */
export type FieldKind =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'duration'
  | 'size'
  | 'list'
  | 'folders'
  | 'address'
  | 'url'
  | 'mapping';

/**
 * What a field's schema says in addition to JSON Schema: plain data under `x-field`, from which everything else is
 * derived.
 */
export interface FieldAnnotation {
  readonly kind: FieldKind;
  readonly description: string;
  readonly env?: string;
  readonly secret?: true;
  /** The default in the form of the file. */
  readonly default?: unknown;
  readonly unset?: string;
  /** Decoded: milliseconds, bytes, characters. */
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  readonly offers?: true;
  readonly protocols?: readonly string[];
}

/** How values of one kind are read and written. `undefined` means: this is no such value. */
interface FieldCodec {
  /** Reads the text of an environment variable, which is not empty. */
  fromText(text: string, field: FieldAnnotation): unknown;
  /** Reads a value of a YAML file, which is not null. */
  fromFile(value: unknown, field: FieldAnnotation): unknown;
  /** Ends the sentence "… is not". */
  expected(field: FieldAnnotation): string;
  /** What the file may hold, as JSON Schema. */
  jsonSchema(field: FieldAnnotation): Record<string, unknown>;
  /** The number that `min` and `max` bound, and how it is shown. Absent where nothing is bounded. */
  readonly bounds?: { measure(value: unknown): number; show(bound: number): string };
}

const INTEGER = /^[+-]?\d{1,16}$/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const WORDS = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
]);

const same = (value: unknown) => value;
const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
const plainBounds = { measure: (value: unknown) => value as number, show: String };

/** A kind whose file form is the same text as the variable's. */
function textual(codec: {
  parse(text: string, field: FieldAnnotation): unknown;
  expected: FieldCodec['expected'];
  jsonSchema: FieldCodec['jsonSchema'];
}): FieldCodec {
  return {
    fromText: codec.parse,
    fromFile: (value, field) => (typeof value === 'string' ? codec.parse(value, field) : undefined),
    expected: codec.expected,
    jsonSchema: codec.jsonSchema,
  };
}

/** A list whose text form separates its items by one character. */
function separated(separator: string, example: string): FieldCodec {
  const split = (value: string) =>
    value
      .split(separator)
      .map((item) => item.trim())
      .filter((item) => item !== '');
  return {
    fromText: split,
    fromFile: (value) => {
      if (typeof value === 'string') return split(value);
      return Array.isArray(value) && value.every((item) => typeof item === 'string') ? [...value] : undefined;
    },
    expected: () => `a list of texts, write ${example}`,
    jsonSchema: () => ({ anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] }),
  };
}

function parseUrl(value: string, { protocols }: FieldAnnotation): string | undefined {
  const url = URL.parse(value);
  if (url === null || /\s/.test(value)) return undefined;
  return protocols === undefined || protocols.includes(url.protocol.slice(0, -1)) ? value : undefined;
}

/** The codec of every kind of field. */
export const fieldCodecs: Readonly<Record<FieldKind, FieldCodec>> = {
  string: {
    ...textual({
      parse: same,
      expected: () => 'a text (write numbers and true or false in quotes)',
      jsonSchema: ({ min, max }) => ({ type: 'string', minLength: min, maxLength: max }),
    }),
    bounds: {
      measure: (value) => (value as string).length,
      show: (bound) => `${bound} character${bound === 1 ? '' : 's'} long`,
    },
  },
  integer: {
    fromText: (value) => {
      const number = INTEGER.test(value) ? Number(value) : undefined;
      return Number.isSafeInteger(number) ? number : undefined;
    },
    fromFile: (value) => (Number.isSafeInteger(value) ? value : undefined),
    expected: () => 'a whole number',
    jsonSchema: ({ min, max }) => ({ type: 'integer', minimum: min, maximum: max }),
    bounds: plainBounds,
  },
  number: {
    fromText: (value) => {
      const number = NUMBER.test(value) ? Number(value) : undefined;
      return Number.isFinite(number) ? number : undefined;
    },
    fromFile: (value) => (Number.isFinite(value) ? value : undefined),
    expected: () => 'a number',
    jsonSchema: ({ min, max }) => ({ type: 'number', minimum: min, maximum: max }),
    bounds: plainBounds,
  },
  boolean: {
    fromText: (value) => WORDS.get(value.toLowerCase()),
    fromFile: (value) => (typeof value === 'boolean' ? value : undefined),
    expected: () => 'true or false',
    jsonSchema: () => ({ type: 'boolean' }),
  },
  choice: textual({
    parse: (value, { choices, offers }) =>
      choices?.includes(value) || (offers && isOfferName(value)) ? value : undefined,
    expected: (field) => `one of ${choicesOf(field).join(', ')}`,
    jsonSchema: ({ choices, offers }) =>
      offers
        ? { anyOf: [{ enum: choices }, { type: 'string', pattern: `^${OFFER_PATTERN}$` }] }
        : { enum: choices },
  }),
  duration: {
    fromText: parseDuration,
    fromFile: (value) =>
      typeof value === 'number' ? parseDuration(String(value)) : parseDuration(text(value) ?? ''),
    expected: () => 'a duration, write 30s or 5m',
    jsonSchema: () => ({
      anyOf: [
        { type: 'string', pattern: DURATION_PATTERN },
        { type: 'number', minimum: 0 },
      ],
    }),
    bounds: { measure: (value) => value as number, show: formatDuration },
  },
  size: {
    fromText: parseSize,
    fromFile: (value) =>
      typeof value === 'number' ? parseSize(String(value)) : parseSize(text(value) ?? ''),
    expected: () => 'a size, write 64KiB or 10MiB',
    jsonSchema: () => ({
      anyOf: [
        { type: 'string', pattern: SIZE_PATTERN },
        { type: 'integer', minimum: 0 },
      ],
    }),
    bounds: { measure: (value) => value as number, show: formatSize },
  },
  list: separated(',', 'a,b'),
  folders: separated(':', 'one/folder:another/folder'),
  address: textual({
    parse: parseAddress,
    expected: () => 'an address, write host:port, [v6]:port or :port',
    jsonSchema: () => ({ type: 'string', pattern: ADDRESS_PATTERN }),
  }),
  url: textual({
    parse: parseUrl,
    expected: ({ protocols = ['https'] }) =>
      `a URL, write ${protocols.map((name) => `${name}://…`).join(' or ')}`,
    jsonSchema: () => ({ type: 'string', format: 'uri' }),
  }),
  mapping: {
    fromText: () => undefined,
    fromFile: (value) => (isJsonObject(value) ? value : undefined),
    expected: () => 'a mapping of names to values',
    jsonSchema: () => ({ type: 'object' }),
  },
};

/** The words of a choice, and what stands for the names of what plugins offer. */
export function choicesOf({ choices = [], offers }: FieldAnnotation): readonly string[] {
  return offers ? [...choices, 'plugin/<plugin>/<name>'] : choices;
}

/** A decoded value, or the reason why there is none. */
export type Decoded = { readonly value: unknown } | { readonly problem: string };

/** Decodes the text of a variable, which is not empty. Never throws; the problem names no secret value. */
export function decodeText(text: string, field: FieldAnnotation): Decoded {
  const trimmed = field.kind === 'string' ? text : text.trim();
  return check(text, fieldCodecs[field.kind].fromText(trimmed, field), field);
}

/** Decodes a value of a YAML file, which is not null. Never throws; the problem names no secret value. */
export function decodeValue(value: unknown, field: FieldAnnotation): Decoded {
  return check(value, fieldCodecs[field.kind].fromFile(value, field), field);
}

/**
 * A value as it may be shown in a message: short, on one line, and without the password of a URL.
 */
export function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  if (typeof value !== 'string') return String(value);
  const shown = value.replace(/\/\/.*@/s, '//***@');
  return JSON.stringify(shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown);
}

const MAX_SHOWN = 60;

function check(raw: unknown, value: unknown, field: FieldAnnotation): Decoded {
  const { expected, bounds } = fieldCodecs[field.kind];
  if (value === undefined) {
    return { problem: `${field.secret ? 'the value' : quoteValue(raw)} is not ${expected(field)}` };
  }
  if (bounds === undefined) return { value };
  const size = bounds.measure(value);
  if (field.min !== undefined && size < field.min)
    return { problem: `must be at least ${bounds.show(field.min)}` };
  if (field.max !== undefined && size > field.max)
    return { problem: `must be at most ${bounds.show(field.max)}` };
  return { value };
}
