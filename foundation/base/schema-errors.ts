import type { FieldError } from './gateway-error.ts';
import { pointerSegment } from './json-pointer.ts';
import { didYouMean } from './nearest-name.ts';

/** What Ajv says of a bad value. */
export interface SchemaError {
  /** The keyword of the schema that refused the value: `required`, `pattern`. */
  readonly keyword: string;
  /** JSON Pointer to the value. */
  readonly instancePath: string;
  /** JSON Pointer to the keyword. */
  readonly schemaPath: string;
  /** By keyword: `missingProperty`, `additionalProperty`, `limit`, `allowedValues`. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Never holds the value. */
  readonly message?: string;
  /** The schema that the keyword belongs to. */
  readonly parentSchema?: Readonly<Record<string, unknown>>;
}

/**
 * Ajv's errors as pointers and sentences: one per field, the most specific. A pattern is reported by its
 * schema's `patternErrorMessage`, and an unknown member with the known one that was probably meant.
 */
export function fieldErrors(errors: readonly SchemaError[], place: string): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  for (const error of withoutFailedBranches(errors)) {
    const pointer = pointerOf(error, place);
    const message = CHOICES.has(error.keyword) ? choiceMessage(error, errors) : messageOf(error);
    if (!byPointer.has(pointer)) byPointer.set(pointer, { pointer, message });
  }
  return [...byPointer.values()];
}

const CHOICES = new Set(['anyOf', 'oneOf']);

function isBranch(error: SchemaError, choice: SchemaError): boolean {
  return error !== choice && error.schemaPath.startsWith(`${choice.schemaPath}/`);
}

/**
 * A value that matches none of several forms fails each of them. What lies deeper than the choice itself is
 * reported; complaints about the value being another type are not.
 */
function withoutFailedBranches(errors: readonly SchemaError[]): readonly SchemaError[] {
  const choices = errors.filter((error) => CHOICES.has(error.keyword));
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

/**
 * What is wrong with a value that matches none of several forms: it is none of the constants, it breaks a rule of the
 * only form that has its type, or it has another type than all of them.
 */
function choiceMessage(choice: SchemaError, errors: readonly SchemaError[]): string {
  const byForm = Map.groupBy(
    errors.filter((error) => isBranch(error, choice)),
    ({ schemaPath }) => schemaPath.slice(choice.schemaPath.length + 1).split('/')[0],
  );
  const forms = [...byForm.values()];
  const firstOf = (keyword: string) =>
    forms.flatMap((form) => form.find((one) => one.keyword === keyword) ?? []);
  const hasChoice = forms.flat().some(({ keyword }) => CHOICES.has(keyword));
  const constants = firstOf('const').map(({ params }) => JSON.stringify(params.allowedValue));
  if (!hasChoice && constants.length === forms.length) return `must be one of ${constants.join(', ')}`;
  const ofItsType = forms.filter((form) => form.every(({ keyword }) => keyword !== 'type'));
  if (ofItsType.length === 1) {
    const [form = []] = ofItsType;
    const within = form.findLast(({ keyword }) => CHOICES.has(keyword));
    if (within !== undefined) return choiceMessage(within, errors);
    // An unknown member is at a place of its own.
    const reason = form.find((error) => pointerOf(error, '') === pointerOf(choice, ''));
    if (reason !== undefined) return messageOf(reason);
  }
  if (ofItsType.length > 0) return messageOf(choice);
  return oneOfTypes(firstOf('type'));
}

function oneOfTypes(errors: readonly SchemaError[]): string {
  const types = errors.flatMap(({ params }) => params.type as string | string[]);
  return `must be ${new Intl.ListFormat('en', { type: 'disjunction' }).format(new Set(types))}`;
}

function pointerOf(error: SchemaError, place: string): string {
  const base = `/${place}${error.instancePath}`;
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const child = missingProperty ?? additionalProperty;
  return child === undefined ? base : `${base}/${pointerSegment(child)}`;
}

function messageOf(error: SchemaError): string {
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'pattern':
      return schemaOf(error).patternErrorMessage ?? error.message ?? 'is not valid';
    case 'format':
      return formatMessage(String(error.params.format));
    case 'additionalProperties':
      return unknownMember(error);
    case 'type':
      return oneOfTypes([error]);
    case 'enum':
      return `must be one of ${(error.params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(error.params.allowedValue)}`;
    case 'anyOf':
    case 'oneOf':
      return 'has none of the allowed forms';
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return `must have at least ${counted(error)}`;
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${counted(error)}`;
    default:
      return error.message ?? 'is not valid';
  }
}

/** The formats that people write by hand, in words. */
const FORMATS: Readonly<Record<string, string>> = {
  date: 'a date, such as 2026-01-31',
  'date-time': 'a time with its offset, such as 2026-01-31T12:00:00Z',
  email: 'an email address',
  uri: 'an address with its scheme, such as https://example.com',
  uuid: 'a UUID',
};

function formatMessage(format: string): string {
  return `must be ${FORMATS[format] ?? `of the format ${format}`}`;
}

/** `1 character`, `3 items`: what the keyword counts, in the number of its limit. */
function counted({ keyword, params }: SchemaError): string {
  const { limit } = params as { readonly limit: number };
  const one = keyword.endsWith('Length') ? 'character' : keyword.endsWith('Items') ? 'item' : 'member';
  return `${limit} ${one}${limit === 1 ? '' : 's'}`;
}

/** What messages need of the schema that refused the value. */
interface SchemaTexts {
  /** Reported instead of the pattern. */
  readonly patternErrorMessage?: string;
  readonly properties?: object;
}

function schemaOf({ parentSchema }: SchemaError): SchemaTexts {
  return (parentSchema ?? {}) as SchemaTexts;
}

function unknownMember(error: SchemaError): string {
  const { additionalProperty } = error.params as { readonly additionalProperty: string };
  const known = Object.keys(schemaOf(error).properties ?? {});
  return `is not known here${didYouMean(additionalProperty, known)}`;
}
