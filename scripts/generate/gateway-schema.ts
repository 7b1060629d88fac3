import { type ConfigurablePlugin, gatewayFileSchema } from '../../foundation/config/gateway-file-schema.ts';
import type { GeneratedFile } from './generated-file.ts';

/** The JSON Schema of gateway.yaml with the configuration of the bundled plugins. */
export function gatewaySchemaFile(plugins: readonly ConfigurablePlugin[]): GeneratedFile {
  return {
    path: 'schemas/gateway.schema.json',
    render: () => `${JSON.stringify(gatewayFileSchema(plugins), null, 2)}\n`,
  };
}
