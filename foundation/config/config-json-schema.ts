import type { TSchema } from 'typebox';
import { annotationOf, type FieldAnnotation, membersOf } from './field-annotation.ts';
import { fieldCodecs } from './field-codec.ts';

/** A JSON Schema (draft-07, which the YAML plugins of editors understand). */
export type JsonSchema = Record<string, unknown>;

/** What a YAML file may hold for a configuration: every member optional, no others, with descriptions and defaults. */
export function configJsonSchema(schema: TSchema): JsonSchema {
  const properties = membersOf(schema).map(([key, member]) => {
    const annotation = annotationOf(member);
    return [key, annotation === undefined ? configJsonSchema(member) : fieldJsonSchema(annotation)];
  });
  const { description } = schema as { description?: string };
  return {
    type: 'object',
    description,
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
}

function fieldJsonSchema(annotation: FieldAnnotation): JsonSchema {
  const { description, env, default: value } = annotation;
  return {
    description: env === undefined ? description : `${description}. The variable ${env} wins over it.`,
    ...fieldCodecs[annotation.kind].jsonSchema(annotation),
    default: value,
  };
}
