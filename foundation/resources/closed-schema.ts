import type { TSchema } from 'typebox';

/** A JSON Schema as plain data. */
export type JsonSchema = Record<string, unknown>;

const LISTS = ['anyOf', 'oneOf', 'prefixItems', 'items'] as const;
const SINGLE = ['items', 'additionalProperties'] as const;
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const;

/**
 * The schema as plain data in which every object with named members refuses others, where it does not say itself what
 * they are: a misspelled member should not pass silently. Objects below `allOf`, `if` and `not` stay open: they describe a part of the members.
 */
export function closedSchema(schema: TSchema): JsonSchema {
  const closed = known.get(schema) ?? close(JSON.parse(JSON.stringify(schema)) as JsonSchema);
  known.set(schema, closed);
  return closed;
}

/** A plugin that is set up anew brings the same schema again: it is compiled once. */
const known = new WeakMap<TSchema, JsonSchema>();

function close(schema: unknown): JsonSchema {
  if (!isSchema(schema)) return schema as JsonSchema;
  const closed: JsonSchema = { ...schema };
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) closed[key] = list.map(close);
  }
  for (const key of SINGLE) {
    if (isSchema(schema[key])) closed[key] = close(schema[key]);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (isSchema(map)) {
      closed[key] = Object.fromEntries(Object.entries(map).map(([name, member]) => [name, close(member)]));
    }
  }
  if (isSchema(schema.properties) && schema.allOf === undefined) closed.additionalProperties ??= false;
  return closed;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
