import type TypeBox from 'typebox';

/**
 * The builders of TypeBox that are here. What they make is a schema of TypeBox: the rest of that package takes it, and
 * the other way round.
 */
type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Schemas that are TypeScript types at the same time, written as in TypeBox, and of its types. That package has 370
 * modules, a sixth of all that a start loads, for what are plain objects of JSON Schema: these builders stand for it
 * where the gateway starts.
 */
export const Type = {
  Array: (items: Schema, options?: Schema) => kind('Array', { type: 'array', items }, options),
  Boolean: (options?: Schema) => kind('Boolean', { type: 'boolean' }, options),
  Enum: (values: readonly unknown[], options?: Schema) => kind('Enum', { enum: values }, options),
  Integer: (options?: Schema) => kind('Integer', { type: 'integer' }, options),
  Literal: (value: unknown, options?: Schema) =>
    kind('Literal', { type: typeof value, const: value }, options),
  Null: (options?: Schema) => kind('Null', { type: 'null' }, options),
  Number: (options?: Schema) => kind('Number', { type: 'number' }, options),
  Object: object,
  Optional: optional,
  Partial: (
    { properties }: { readonly properties: Readonly<Record<string, Schema>> },
    options: Schema = {},
  ) =>
    Object.assign(
      object(Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, optional(of)]))),
      options,
    ),
  Record: ({ pattern = '^.*$' }: { readonly pattern?: string }, value: Schema, options?: Schema) =>
    kind('Record', { type: 'object', patternProperties: { [pattern]: value } }, options),
  String: (options?: Schema) => kind('String', { type: 'string' }, options),
  Union: (anyOf: readonly Schema[], options?: Schema) => kind('Union', { anyOf }, options),
  Unknown: (options?: Schema) => kind('Unknown', {}, options),
  Unsafe: (schema: Schema) => hide(copy(schema), '~unsafe', null),
} as unknown as Builders;

function object(properties: Readonly<Record<string, Schema>>, options?: Schema): object {
  const required = Object.keys(properties).filter((name) => !('~optional' in (properties[name] ?? {})));
  return kind('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options);
}

function optional(schema: Schema): Schema {
  return hide(copy(schema), '~optional', true);
}

function kind(name: string, schema: Schema, options: Schema = {}): Schema {
  return hide({ ...schema, ...options }, '~kind', name);
}

/** TypeBox's own marks, which no JSON shows. */
function hide(schema: Schema, mark: string, value: unknown): Schema {
  return Object.defineProperty(schema, mark, {
    value,
    enumerable: false,
    configurable: true,
    writable: true,
  });
}

/** With its marks. */
function copy(schema: Schema): Schema {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
}
