import { closedSchema, type JsonSchema } from './closed-schema.ts';
import { API_VERSION, RESOURCE_NAME } from './header.ts';
import type { KindDeclaration } from './kind.ts';

const DRAFT = 'http://json-schema.org/draft-07/schema#';

const texts = (description: string): JsonSchema => ({
  description,
  type: ['object', 'null'],
  additionalProperties: { type: 'string', maxLength: 1_000 },
  maxProperties: 64,
});

const METADATA: JsonSchema = {
  description: 'What the resource says about itself',
  type: 'object',
  properties: {
    name: { description: 'Unique among the resources of its kind', type: 'string', pattern: RESOURCE_NAME },
    description: { description: 'For people', type: ['string', 'null'], maxLength: 1_000 },
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
    // By the kind, so that an editor tells what is wrong with this one and not with all others.
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
