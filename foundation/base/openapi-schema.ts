/**
 * A JSON Schema in the dialect of OpenAPI 3.0, which knows neither `const`, nor lists of types, nor `null` as a type.
 * Annotations that start with `~` or are symbols stay behind, and so does `patternErrorMessage`, which is for our own messages.
 */
export function toOpenApiSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toOpenApiSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  return convertNull(convertKeywords(schema as Schema));
}

type Schema = Record<string, unknown>;

/** Keywords that OpenAPI 3.0 does not have. */
const OWN: ReadonlySet<string> = new Set(['$schema', '$id', 'patternErrorMessage']);

function convertKeywords(schema: Schema): Schema {
  const converted: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('~') || OWN.has(key)) continue;
    if (key === 'const') converted.enum = [value];
    else if (key === 'examples' && Array.isArray(value)) converted.example = value[0];
    else if (key === 'exclusiveMinimum') Object.assign(converted, { minimum: value, exclusiveMinimum: true });
    else if (key === 'exclusiveMaximum') Object.assign(converted, { maximum: value, exclusiveMaximum: true });
    else if (key === 'patternProperties')
      converted.additionalProperties = toOpenApiSchema(Object.values(value as Schema)[0]);
    else if (key === 'properties') converted.properties = mapValues(value as Schema, toOpenApiSchema);
    else if (key === 'enum' || key === 'default' || key === 'required' || key === 'example')
      converted[key] = value;
    else converted[key] = toOpenApiSchema(value);
  }
  return converted;
}

function convertNull(schema: Schema): Schema {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    const { type, ...rest } = schema;
    const nullable = types.length < (type as unknown[]).length ? { nullable: true } : {};
    return types.length === 1
      ? { ...rest, type: types[0], ...nullable }
      : { ...rest, anyOf: types.map((one) => ({ type: one })), ...nullable };
  }
  if (schema.type === 'null') return { nullable: true, enum: [null] };
  if (!Array.isArray(schema.anyOf)) return schema;
  const forms = (schema.anyOf as Schema[]).filter((form) => !isNull(form));
  if (forms.length === schema.anyOf.length) return schema;
  const { anyOf, ...rest } = schema;
  return forms.length === 1
    ? { ...rest, ...forms[0], nullable: true }
    : { ...rest, anyOf: forms, nullable: true };
}

function isNull(form: Schema): boolean {
  return (
    form.nullable === true && Array.isArray(form.enum) && form.enum.length === 1 && form.enum[0] === null
  );
}

function mapValues(record: Schema, map: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
