import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormatsModule from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { FieldError } from './gateway-error.ts';
import { nearestName } from './nearest-name.ts';

/** Checks a value in place (defaults are filled in, strings coerced where asked) and tells every bad field. */
export type Validator = (value: unknown) => readonly FieldError[];

/** Where a value comes from: the first segment of the pointers, and whether its strings are coerced to the schema's types. */
export type InputPlace = 'params' | 'query' | 'headers' | 'body';

// The package is CommonJS: its function is the default of the default.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

// Verbose, since what a schema says of itself makes better messages.
const OPTIONS = { useDefaults: true, strict: false, verbose: true } as const;

/** Coercion is for what arrives as text; a body has types of its own. */
function createAjv(place: InputPlace, allErrors: boolean): Ajv {
  return addFormats(
    new Ajv({ ...OPTIONS, allErrors, ...(place === 'body' ? {} : { coerceTypes: 'array' }) }),
  );
}

const ajvs = new Map<string, Ajv>();

function ajvOf(place: InputPlace, allErrors: boolean): Ajv {
  const key = `${place === 'body'} ${allErrors}`;
  const ajv = ajvs.get(key) ?? createAjv(place, allErrors);
  ajvs.set(key, ajv);
  return ajv;
}

/** Values of more nodes than this are told their first bad field only: an error for each of a million costs too much. */
const MAX_NODES_FOR_ALL_ERRORS = 2_000;

/** Compiles a schema. Throws when it is no valid JSON Schema. */
export function createValidator(schema: TSchema, place: InputPlace): Validator {
  const isValid: ValidateFunction = ajvOf(place, false).compile(schema);
  // Most schemas never see a bad value, so the thorough form is compiled when it is needed.
  let tellAll: ValidateFunction | undefined;
  const integers = place === 'query' ? integersOf(schema) : [];
  return (value) => {
    if (integers.length > 0) keepOddIntegers(value as Record<string, unknown>, integers);
    if (isValid(value)) return [];
    if (!hasFewerNodes(value, MAX_NODES_FOR_ALL_ERRORS)) return fieldErrors(isValid.errors ?? [], place);
    tellAll ??= ajvOf(place, true).compile(schema);
    tellAll(value);
    return fieldErrors(tellAll.errors ?? [], place);
  };
}

function integersOf(schema: TSchema): readonly string[] {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> };
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer');
}

/** Ajv takes `1e3` and blanks for integers. They are none here (decisions, Conventions), and nothing that it could coerce either. */
function keepOddIntegers(query: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const text = query[name];
    if (typeof text === 'string' && !/^-?\d+$/.test(text)) query[name] = `"${text}"`;
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

/**
 * Ajv's errors as pointers and sentences: one per field, the most specific. Of an Ajv that is `verbose`, a pattern tells its schema's
 * `patternErrorMessage`, and an unknown member the known one that was probably meant.
 */
export function fieldErrors(errors: readonly ErrorObject[], place: string): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of withoutFailedBranches(errors)) {
    const pointer = pointerOf(error, place);
    if (!byPointer.has(pointer)) byPointer.set(pointer, { pointer, message: messageOf(error) });
  }
  return [...byPointer.values()];
}

const CHOICES = new Set(['anyOf', 'oneOf']);

/**
 * A value that matches none of several forms fails each of them. What lies deeper than the choice itself is worth
 * telling; complaints about the value being another type are not.
 */
function withoutFailedBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter((error) => CHOICES.has(error.keyword));
  const isBranch = (error: ErrorObject, choice: ErrorObject) =>
    error !== choice && error.schemaPath.startsWith(`${choice.schemaPath}/`);
  return errors.filter((error) => {
    const shallow = choices.some(
      (c) => isBranch(error, c) && error.instancePath === c.instancePath && error.keyword !== 'required',
    );
    const explained =
      CHOICES.has(error.keyword) &&
      errors.some(
        (e) =>
          isBranch(e, error) &&
          (e.instancePath.length > error.instancePath.length || e.keyword === 'required'),
      );
    return !shallow && !explained;
  });
}

function pointerOf(error: ErrorObject, place: string): string {
  const base = `/${place}${error.instancePath}`;
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const child = missingProperty ?? additionalProperty;
  return child === undefined ? base : `${base}/${child.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function messageOf(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'pattern':
      return schemaOf(error).patternErrorMessage ?? error.message ?? 'is not valid';
    case 'additionalProperties':
      return unknownMember(error);
    case 'enum':
      return `must be one of ${(error.params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(error.params.allowedValue)}`;
    case 'anyOf':
    case 'oneOf':
      return 'has none of the allowed forms';
    default:
      return error.message ?? 'is not valid';
  }
}

/** What messages need of the schema that said no. */
interface TellingSchema {
  /** Told instead of the pattern, which nobody wants to read. */
  readonly patternErrorMessage?: string;
  readonly properties?: object;
}

function schemaOf({ parentSchema }: ErrorObject): TellingSchema {
  return (parentSchema ?? {}) as TellingSchema;
}

function unknownMember(error: ErrorObject): string {
  const { additionalProperty } = error.params as { readonly additionalProperty: string };
  const meant = nearestName(additionalProperty, Object.keys(schemaOf(error).properties ?? {}));
  return meant === undefined ? 'is not known here' : `is not known here, did you mean ${meant}?`;
}
