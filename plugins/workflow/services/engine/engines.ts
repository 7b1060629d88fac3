import type { WorkflowEngines, WorkflowLimits } from '../../contract/engine.ts';
import { workflowTables } from '../../store/workflow-tables.ts';
import type { NodeTypesOf } from '../nodes/open-node-types.ts';
import { type OpenEngineParts, openEngine } from './open-engine.ts';

/** What engines of other plugins share with the gateway's own. */
export interface EnginesParts extends Pick<OpenEngineParts, 'sinks' | 'redactor' | 'metrics'> {
  readonly limits: WorkflowLimits;
  readonly typesOf: NodeTypesOf;
}

/** Makes engines over databases that other plugins have. */
export function createEngines({ sinks, redactor, metrics, limits, typesOf }: EnginesParts): WorkflowEngines {
  return {
    async open(scope, { name, database, nodeTypes = [], limits: own = {}, isDelivered = false }) {
      const tables = workflowTables(name);
      const registered = await database.register({
        owner: `${scope.name}.${name}`,
        entities: tables.entities,
        migrations: tables.migrations,
      });
      scope.defer(() => registered.release());
      const { engine } = await openEngine(scope, {
        ...{ database, tables, redactor, metrics },
        types: typesOf(database, nodeTypes),
        limits: { ...limits, ...own },
        sinks: isDelivered ? sinks : () => [],
      });
      return engine;
    },
  };
}
