import type { Plugin } from '../../kernel/api/plugin.ts';
import { ConformanceError, type ConformanceOptions, gatewayOf } from './gateway-of.ts';

/** The tables that the migrations made are those that the entities describe. */
export async function schemaCheck(plugin: Plugin, options: ConformanceOptions): Promise<void> {
  const gateway = await gatewayOf(plugin, options);
  try {
    const drift = await gateway.gateway.services.database.schemaDrift();
    if (drift !== '')
      throw new ConformanceError(`entities and migrations differ; this would make them equal:\n${drift}`);
  } finally {
    await gateway.stop();
  }
}
