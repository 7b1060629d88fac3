import type { TSchema } from 'typebox';
import { isJsonObject } from '../base/json-object.ts';
import { API_VERSION, MAX_DESCRIPTION, MAX_ENTRIES, MAX_TEXT, RESOURCE_NAME } from './header.ts';
import type { KindDeclaration } from './kind.ts';

const DRAFT = 'http://json-schema.org/draft-07/schema#';

const texts = (description: string): JsonSchema => ({
  description,
  type: ['object', 'null'],
  additionalProperties: { type: 'string', maxLength: MAX_TEXT },
  maxProperties: MAX_ENTRIES,
});

const METADATA: JsonSchema = {
  description: 'What the resource says about itself',
  type: 'object',
  properties: {
    name: { description: 'Unique among the resources of its kind', type: 'string', pattern: RESOURCE_NAME },
    description: { description: 'For people', type: ['string', 'null'], maxLength: MAX_DESCRIPTION },
    labels: texts('For programs that choose among resources'),
    annotations: texts('For programs that keep something with a resource'),
  },
  required: ['name'],
  additionalProperties: false,
};

/** The JSON Schema (draft-07, which the YAML plugins of editors understand) of documents of one kind. */
export function kindJsonSchema(declaration: KindDeclaration): JsonSchema {
  return { $schema: DRAFT, title: declaration.kind, ...documentSchema(declaration) };
}

/** The JSON Schema of documents of any of these kinds, for files that hold several. */
export function resourceJsonSchema(declarations: readonly KindDeclaration[]): JsonSchema {
  return {
    $schema: DRAFT,
    title: 'A resource of agents.d',
    type: 'object',
    properties: { kind: { enum: declarations.map(({ kind }) => kind) } },
    required: ['kind'],
    // By the kind, so that an editor shows what is wrong with this one and not with all others.
    allOf: declarations.map((declaration) => ({
      if: { properties: { kind: { const: declaration.kind } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: documentSchema(declaration),
    })),
  };
}

function documentSchema({ kind, summary, spec }: KindDeclaration): JsonSchema {
  return {
    description: summary,
    type: 'object',
    properties: {
      apiVersion: {
        description: 'Version of this format',
        type: 'string',
        pattern: API_VERSION,
        default: 'svc/v1',
      },
      kind: { description: summary, type: 'string', const: kind },
      metadata: METADATA,
      spec: closedSchema(spec),
    },
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    additionalProperties: false,
  };
}

/** A JSON Schema as plain data. */
type JsonSchema = Record<string, unknown>;

const LISTS = ['anyOf', 'oneOf', 'prefixItems', 'items'] as const;
const SINGLE = ['items', 'additionalProperties'] as const;
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const;

/**
 * The schema as plain data in which every object with named members refuses others, where it does not say itself what
 * they are: a misspelled member should not pass silently. Objects below `allOf`, `if` and `not` stay open: they
 * describe a part of the members.
 */
export function closedSchema(schema: TSchema): JsonSchema {
  const closed = known.get(schema) ?? close(JSON.parse(JSON.stringify(schema)) as JsonSchema);
  known.set(schema, closed);
  return closed;
}

/** A plugin that is set up again brings the same schema again: it is compiled once. */
const known = new WeakMap<TSchema, JsonSchema>();

function close(schema: unknown): JsonSchema {
  if (!isJsonObject(schema)) return schema as JsonSchema;
  const closed: JsonSchema = { ...schema };
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) closed[key] = list.map(close);
  }
  for (const key of SINGLE) {
    if (isJsonObject(schema[key])) closed[key] = close(schema[key]);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (isJsonObject(map)) {
      closed[key] = Object.fromEntries(Object.entries(map).map(([name, member]) => [name, close(member)]));
    }
  }
  if (isJsonObject(schema.properties) && schema.allOf === undefined) closed.additionalProperties ??= false;
  return closed;
}
