import type { TSchema } from 'typebox';
import { configJsonSchema, type JsonSchema } from './config-json-schema.ts';
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
