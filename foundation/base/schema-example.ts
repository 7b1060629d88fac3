import type { Static, TSchema } from 'typebox';

/** A JSON Schema as far as examples look at it. */
interface ExampleSchema {
  readonly documentedAs?: ExampleSchema;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly ExampleSchema[];
  readonly oneOf?: readonly ExampleSchema[];
  readonly allOf?: readonly ExampleSchema[];
  readonly properties?: Readonly<Record<string, ExampleSchema>>;
  readonly required?: readonly string[];
  /** Of a tuple one for each place. */
  readonly items?: ExampleSchema | readonly ExampleSchema[];
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly $ref?: string;
  readonly not?: unknown;
  readonly contains?: unknown;
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2030-01-31T08:30:00.000Z',
  date: '2030-01-31',
  time: '08:30:00Z',
  uuid: '01a209b6-2688-7509-9c34-9e59379066ee',
  uri: 'https://example.com/',
  email: 'somebody@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

/** Stands for a text of which the schema says nothing. */
export const ANY_TEXT = 'string';

/**
 * A value that fits a schema: what its `examples` say, or else made of its parts, of which optional ones count where
 * they have an example of their own. Where nothing but `null` is sure it is `null`. The same schema always gives the
 * same value.
 *
 * @returns `undefined` where only a pattern, a reference or a rule across members could say: no example is better than
 * a wrong one
 */
export function exampleOf(schema: unknown): unknown {
  return made(schema as ExampleSchema, undefined);
}

/**
 * A value that fits the schema, with `marker` in every text that leaves room for it, whatever examples there are.
 * Optional members are left out. Where a pattern or a rule across members decides, it may not fit.
 */
export function markedExampleOf(schema: unknown, marker: string): unknown {
  return made(schema as ExampleSchema, marker);
}

/**
 * The schema of an object, whose example differs in these members: of one that was disabled, say. Its other members are
 * as in the schema's own example.
 */
export function withExample<S extends TSchema>(schema: S, members: Partial<Static<S>>): S {
  return { ...schema, examples: [{ ...(exampleOf(schema) as object), ...members }] };
}

function made(schema: ExampleSchema, marker: string | undefined): unknown {
  if (schema.documentedAs !== undefined) return made(schema.documentedAs, marker);
  if (schema.const !== undefined) return schema.const;
  const given = ownExample(schema) ?? schema.default;
  if (marker === undefined && given !== undefined) return given;
  if (marker === undefined && (schema.$ref ?? schema.not ?? schema.contains) !== undefined) return undefined;
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const forms = schema.anyOf ?? schema.oneOf;
  const isNullable = types.includes('null') || forms?.some(({ type }) => type === 'null') === true;
  if (marker === undefined && isNullable) return null;
  if (schema.enum !== undefined) return schema.enum[0];
  if (forms !== undefined) return firstMade(forms, marker);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((part) => made(part, marker) ?? {}));
  switch (types[0]) {
    case 'object':
      return objectOf(schema, marker);
    case 'array':
      return listOf(schema, marker);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case undefined:
      // Any JSON.
      return marker ?? {};
    default:
      return textOf(schema, marker);
  }
}

function ownExample({ example, examples }: ExampleSchema): unknown {
  return examples?.[0] ?? example;
}

function firstMade(forms: readonly ExampleSchema[], marker: string | undefined): unknown {
  for (const form of forms) {
    const value = made(form, marker);
    if (value !== undefined) return value;
  }
  return undefined;
}

function objectOf(schema: ExampleSchema, marker: string | undefined): unknown {
  const { properties = {}, required = [], minProperties = 0 } = schema;
  const optional = Object.keys(properties).filter(
    (name) =>
      marker === undefined && !required.includes(name) && ownExample(properties[name] ?? {}) !== undefined,
  );
  const named = new Set([...required, ...optional]);
  const names = [...Object.keys(properties).filter((name) => named.has(name)), ...required];
  const members = new Map(names.map((name) => [name, made(properties[name] ?? {}, marker)]));
  if (members.size < minProperties || [...members.values()].includes(undefined)) return undefined;
  return Object.fromEntries(members);
}

function listOf({ items = {}, minItems, uniqueItems }: ExampleSchema, marker: string | undefined): unknown {
  if (isTuple(items)) {
    const places = items.map((item) => made(item, marker));
    return places.includes(undefined) ? undefined : places;
  }
  const item = made(items, marker);
  const length = Math.max(minItems ?? 1, 1);
  if (item === undefined) return minItems ? undefined : [];
  if (marker === undefined && uniqueItems === true && length > 1) return undefined;
  return Array.from({ length }, () => item);
}

function isTuple(items: ExampleSchema | readonly ExampleSchema[]): items is readonly ExampleSchema[] {
  return Array.isArray(items);
}

function numberOf(schema: ExampleSchema): unknown {
  const { minimum = -Infinity, maximum = Infinity, multipleOf: step = 0 } = schema;
  const { exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity } = schema;
  const likely = [
    minimum,
    1,
    above + 1,
    step,
    Math.ceil(minimum / step) * step,
    maximum,
    (above + below) / 2,
  ];
  return likely.find(
    (value) =>
      Number.isFinite(value) &&
      value >= minimum &&
      value <= maximum &&
      value > above &&
      value < below &&
      (step === 0 || value % step === 0) &&
      (schema.type !== 'integer' || Number.isInteger(value)),
  );
}

function textOf(schema: ExampleSchema, marker: string | undefined): unknown {
  const { pattern, format, minLength = 0, maxLength } = schema;
  const text = (marker ?? ANY_TEXT).padEnd(minLength, 'x').slice(0, maxLength);
  if (pattern !== undefined && !matches(pattern, text))
    return marker === undefined ? undefined : (ownExample(schema) ?? schema.default ?? marker);
  return (format === undefined ? undefined : FORMATS[format]) ?? text;
}

/** What is no pattern matches nothing here; where inputs are checked with it, it is reported. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return false;
  }
}
