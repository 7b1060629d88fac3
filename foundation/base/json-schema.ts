import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormatsModule from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { FieldError } from './gateway-error.ts';
import { fieldErrors, type SchemaError } from './schema-errors.ts';
import { unstorableFields } from './storable-text.ts';
import { withinTime } from './within-time.ts';

/**
 * Checks a value; no errors for a good one. The first call compiles the schema, and throws when it is no valid JSON
 * Schema.
 */
export type SchemaCheck = (value: unknown) => readonly SchemaError[];

/** How values are checked. Without options a value is left as it is, and its first error is enough. */
export interface SchemaOptions {
  /** Turns strings into what the schema asks for, in place. For what arrives as text: queries, headers. */
  readonly coerce?: boolean;
  /** Fills in the schema's defaults, in place. */
  readonly defaults?: boolean;
  /** Reports every error. */
  readonly all?: boolean;
  /** Default `draft-07`. The newer one has `unevaluatedProperties`, `prefixItems` and `$dynamicRef`. */
  readonly draft?: '2020-12';
  /** False: formats are notes, which are not tried. */
  readonly formats?: boolean;
  /**
   * For schemas from a source that is not trusted: neither patterns, which could take for ever, nor formats are tried,
   * and a check is given up after 200 ms: then the value passes, and after three such checks every later one. The
   * caller has to bound the size of the schema.
   */
  readonly untrusted?: boolean;
}

/** By their options. They live as long as their schemas: a plugin that is set up again often brings the same ones. */
const checks = new WeakMap<object, Map<string, SchemaCheck>>();

/** The check of a schema, compiled at its first use. One schema with the same options is compiled once. */
export function compileSchema(schema: object, options: SchemaOptions = {}): SchemaCheck {
  const { coerce = false, defaults = false, all = false, draft = 'draft-07', untrusted = false } = options;
  const key = [coerce, defaults, all, draft, untrusted, options.formats !== false].join();
  const bySchema = checks.get(schema) ?? new Map<string, SchemaCheck>();
  checks.set(schema, bySchema);
  const check = bySchema.get(key) ?? lazyCheck(schema, options);
  bySchema.set(key, check);
  return check;
}

const NO_ERRORS: readonly SchemaError[] = [];

function lazyCheck(schema: object, options: SchemaOptions): SchemaCheck {
  let validate: ValidateFunction | undefined;
  const check: SchemaCheck = (value) => {
    validate ??= compile(schema, options);
    const errors = validate(value) ? NO_ERRORS : (validate.errors ?? NO_ERRORS);
    // Ajv would keep the last ones, and the value in them, as long as the schema.
    validate.errors = null;
    return errors;
  };
  return options.untrusted ? boundedCheck(check) : check;
}

/** Milliseconds that a check by an untrusted schema may take, its compilation included. */
const MAX_UNTRUSTED_MS = 200;
/** Checks that may be given up: one alone may be the machine's fault, or the value's. */
const MAX_GIVEN_UP = 3;

function boundedCheck(check: SchemaCheck): SchemaCheck {
  let givenUp = 0;
  return (value) => {
    if (givenUp === MAX_GIVEN_UP) return NO_ERRORS;
    const checked = withinTime(MAX_UNTRUSTED_MS, () => check(value));
    if (checked === undefined) givenUp += 1;
    return checked?.value ?? NO_ERRORS;
  };
}

// The package is CommonJS: its function is the default of the default.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** Stands for a regular expression that is not tried. */
const matchesAll = Object.assign(() => ({ test: () => true }), { code: 'matchesAll' });

const UNTRIED = /"(?:pattern|patternProperties|format)":/;

/** Keywords that can refuse a value because something else matches. */
const REFUSING_MATCHES = [
  'not',
  'if',
  'contains',
  'patternProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
];

/**
 * What is not tried counts as a match, which must refuse nothing: these keywords are not tried either, and of `oneOf`
 * several may match.
 */
function forgiveMatches(ajv: Ajv): void {
  for (const keyword of [...REFUSING_MATCHES, 'oneOf']) ajv.removeKeyword(keyword);
  ajv.addKeyword({ keyword: 'oneOf', schemaType: 'array', macro: (anyOf: unknown[]) => ({ anyOf }) });
}

/**
 * Names that every object inherits: a member of such a name is there when the value itself has it. To ask for that
 * takes several times as long, so it is asked where a schema has such a name.
 */
const INHERITED =
  /"(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)"/;

/**
 * An instance for each schema: a shared one keeps every schema for ever, and lets their `$id`s clash. It costs 0.1 ms.
 * What costs is the meta-schema (15 ms, and half of each compilation), and without it Ajv still refuses what is no
 * schema.
 */
function compile(
  schema: object,
  { coerce, defaults, all, draft, untrusted, formats = !untrusted }: SchemaOptions,
): ValidateFunction {
  const Compiler = draft === '2020-12' ? Ajv2020 : Ajv;
  const ajv = new Compiler({
    strict: false,
    logger: false,
    addUsedSchema: false,
    validateSchema: false,
    // Only for schemas that refer to it.
    meta: untrusted !== true && JSON.stringify(schema).includes('json-schema.org/'),
    // What a schema says of itself makes better messages.
    verbose: true,
    coerceTypes: coerce ? 'array' : false,
    useDefaults: defaults ?? false,
    allErrors: all ?? false,
    validateFormats: formats,
    ownProperties: INHERITED.test(JSON.stringify(schema)),
    ...(untrusted ? { code: { regExp: matchesAll } } : {}),
  });
  if (untrusted && UNTRIED.test(JSON.stringify(schema))) forgiveMatches(ajv);
  return (formats ? addFormats(ajv) : ajv).compile(schema);
}

/**
 * What is wrong with a message's payload, naming the member and never its value; `undefined` when it fits. Changes
 * nothing.
 */
export function payloadProblem(schema: TSchema, payload: unknown): string | undefined {
  const [first] = compileSchema(schema)(payload);
  return first && `${first.instancePath || 'the payload'} ${first.message ?? 'does not fit the schema'}`;
}

/** Checks a value in place (defaults are filled in, strings coerced where asked) and reports every bad field. */
export type Validator = (value: unknown) => readonly FieldError[];

/**
 * Where a value comes from: the first segment of the pointers. Strings of all but `body` and `spec` are coerced to the
 * schema's types.
 */
export type InputPlace = 'params' | 'query' | 'headers' | 'body';

/** Of values with more nodes only the first bad field is reported: an error for each of a million costs too much. */
const MAX_NODES_FOR_ALL_ERRORS = 2_000;

/**
 * The check of an input. Like every check it compiles the schema at its first use. Text that not every database keeps
 * is refused in queries and specs; a body may hold any.
 */
export function createValidator(schema: TSchema, place: InputPlace | 'spec'): Validator {
  // A body and a spec have types of their own.
  const options = { coerce: place !== 'body' && place !== 'spec', defaults: true };
  const firstError = compileSchema(schema, options);
  const allErrors = compileSchema(schema, { ...options, all: true });
  const numbers = place === 'query' ? numbersOf(schema) : [];
  const isKey = place === 'query' || place === 'spec';
  return (value) => {
    if (numbers.length > 0) keepOddNumbers(value as Record<string, unknown>, numbers);
    const errors = firstError(value);
    if (errors.length === 0) return isKey ? unstorableFields(value, place) : [];
    return fieldErrors(hasFewerNodes(value, MAX_NODES_FOR_ALL_ERRORS) ? allErrors(value) : errors, place);
  };
}

function numbersOf(schema: TSchema): readonly (readonly [string, RegExp])[] {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> };
  return Object.entries(properties).flatMap(([name, { type }]) => {
    if (type === 'integer') return [[name, /^-?\d+$/] as const];
    return type === 'number'
      ? [[name, /^-?(?:\d{1,99}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?$/] as const]
      : [];
  });
}

/**
 * Ajv takes `1e3` and blanks for integers, and `0x10` and `Infinity` for numbers. They are none here (decisions,
 * Conventions), and nothing that it could coerce either.
 */
function keepOddNumbers(
  query: Record<string, unknown>,
  numbers: readonly (readonly [name: string, form: RegExp])[],
): void {
  for (const [name, form] of numbers) {
    const text = query[name];
    if (typeof text === 'string' && !form.test(text)) query[name] = `"${text}"`;
  }
}

function hasFewerNodes(value: unknown, limit: number): boolean {
  let left = limit;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next);
    left -= members.length;
    if (left < 0) return false;
    pending.push(...members);
  }
  return true;
}
