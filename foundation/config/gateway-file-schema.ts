import type { TSchema } from 'typebox';
import { annotationOf, membersOf } from './field.ts';
import { type FieldAnnotation, fieldCodecs } from './field-codec.ts';
import { PLUGIN_NAME_PATTERN, PluginEntryFields } from './gateway-file.ts';

/** What the schema of gateway.yaml needs to know of a plugin. */
export interface ConfigurablePlugin {
  readonly name: string;
  readonly summary: string;
  readonly config?: TSchema;
}

/** The JSON Schema of gateway.yaml. Plugins that it does not know are allowed, with any configuration. */
export function gatewayFileSchema(plugins: readonly ConfigurablePlugin[]): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'gateway.yaml',
    description: 'Which plugins run, and with which configuration',
    type: 'object',
    properties: {
      plugins: {
        description: 'By name; a plugin without an entry runs with its defaults',
        type: ['object', 'null'],
        properties: Object.fromEntries(plugins.map((plugin) => [plugin.name, entrySchema(plugin)])),
        additionalProperties: entrySchema(undefined),
        propertyNames: { pattern: PLUGIN_NAME_PATTERN },
      },
    },
    additionalProperties: false,
  };
}

function entrySchema(plugin: ConfigurablePlugin | undefined): JsonSchema {
  const entry = configJsonSchema(PluginEntryFields) as { properties: JsonSchema };
  if (plugin === undefined) return entry;
  const config =
    plugin.config === undefined
      ? { type: 'object', additionalProperties: false }
      : configJsonSchema(plugin.config);
  return {
    ...entry,
    description: plugin.summary,
    properties: {
      ...entry.properties,
      config: { description: `Configuration of ${plugin.name}`, ...config },
    },
  };
}

/** A JSON Schema (draft-07, which the YAML plugins of editors understand). */
type JsonSchema = Record<string, unknown>;

/** What a YAML file may hold for a configuration: every member optional, no others, with descriptions and defaults. */
function configJsonSchema(schema: TSchema): JsonSchema {
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
