import { exampleOf } from './schema-example.ts';

/** What an OpenAPI document says of one content type: the schema, and an example where one can be given. */
export function toOpenApiContent(schema: unknown): object {
  const example = exampleOf(schema);
  return { schema: toOpenApiSchema(schema), ...(example === undefined ? {} : { example }) };
}

/**
 * A JSON Schema in the dialect of OpenAPI 3.0, which knows neither `const`, nor lists of types, nor `null` as a type.
 * Keywords that it does not have are left out: the document then says less than the schema, and nothing wrong. A schema
 * with `documentedAs` is checked as it is, and documented as that.
 */
export function toOpenApiSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toOpenApiSchema);
  if (schema === true) return {};
  if (schema === false) return { not: {} };
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('documentedAs' in schema) return toOpenApiSchema(schema.documentedAs);
  return convertNull(convertKeywords(schema as Schema));
}

type Schema = Record<string, unknown>;

/** The keywords of OpenAPI 3.0 whose values are no schemas. */
const PLAIN: ReadonlySet<string> = new Set([
  'title',
  'description',
  'type',
  'format',
  'enum',
  'default',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',

  'multipleOf',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
]);
/** Those whose values are schemas, or lists of them. */
const NESTED: ReadonlySet<string> = new Set(['allOf', 'oneOf', 'anyOf', 'not', 'items']);

function convertKeywords(schema: Schema): Schema {
  // OpenAPI requires `items` of a list.
  const converted: Schema = [schema.type].flat().includes('array') ? { items: {} } : {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'const') converted.enum = [value];
    else if (key === 'examples' && Array.isArray(value)) converted.example = value[0];
    else if (key === 'exclusiveMinimum') Object.assign(converted, { minimum: value, exclusiveMinimum: true });
    else if (key === 'exclusiveMaximum') Object.assign(converted, { maximum: value, exclusiveMaximum: true });
    else if (key === 'patternProperties')
      converted.additionalProperties = oneOf(Object.values(value as Schema));
    else if (key === 'items' && Array.isArray(value)) converted.items = oneOf(value);
    else if (key === 'additionalProperties')
      converted[key] = typeof value === 'boolean' ? value : toOpenApiSchema(value);
    else if (key === 'properties') converted.properties = mapValues(value as Schema, toOpenApiSchema);
    else if (NESTED.has(key)) converted[key] = toOpenApiSchema(value);
    else if (PLAIN.has(key) || key.startsWith('x-')) converted[key] = value;
  }
  return withType(converted);
}

/** Generators of clients look for the type of an enumeration. */
function withType(schema: Schema): Schema {
  if (!Array.isArray(schema.enum) || schema.type !== undefined) return schema;
  const types = new Set(schema.enum.map((value) => (value === null ? 'null' : typeof value)));
  return [...types].every((type) => type !== 'object') ? { type: [...types], ...schema } : schema;
}

/** What is one of several schemas. */
function oneOf(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? toOpenApiSchema(schemas[0]) : { anyOf: schemas.map(toOpenApiSchema) };
}

/** `null` as one of several forms. */
const NULL: Schema = { type: 'string', nullable: true, enum: [null] };

function convertNull(schema: Schema): Schema {
  const { type, anyOf, ...rest } = schema;
  if (type === 'null') return { ...NULL, ...rest };
  if (Array.isArray(type)) {
    const types: readonly string[] = type.filter((one) => one !== 'null');
    const nullable = types.length < type.length;
    if (types.length === 1) return { ...rest, type: types[0], ...(nullable && { nullable }) };
    return {
      ...rest,
      anyOf: [...types.map((one) => convertKeywords({ type: one })), ...(nullable ? [NULL] : [])],
    };
  }
  if (!Array.isArray(anyOf)) return schema;
  const forms: readonly Schema[] = anyOf.filter((form: Schema) => !isNull(form));
  // `nullable` has a meaning only together with a type.
  if (forms.length !== 1 || forms.length === anyOf.length || forms[0]!.type === undefined) return schema;
  return { ...forms[0], ...rest, nullable: true };
}

function isNull(form: Schema): boolean {
  return form.nullable === true && Array.isArray(form.enum) && form.enum.every((value) => value === null);
}

function mapValues(record: Schema, map: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
