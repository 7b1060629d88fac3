import type { Database, Scope } from 'agent-gateway';
import type {
  EngineOptions,
  OpenedEngine,
  PreparedEngine,
  WorkflowEngines,
  WorkflowLimits,
} from '../../contract/engines.ts';
import { workflowTables } from '../../store/tables.ts';
import { createEngineArchive, personalTables } from '../data-protection/create-engine-archive.ts';
import type { NodeTypesOf } from '../nodes/node-types.ts';
import type { EngineSetup } from './assemble-engine.ts';
import { bindEngine } from './open-engine.ts';

/** What engines of other plugins share with the gateway's own. */
interface EnginesParts extends Pick<EngineSetup, 'sinks' | 'redactor' | 'metrics'> {
  readonly limits: WorkflowLimits;
  readonly typesOf: NodeTypesOf;
}

/** Makes engines over databases that other plugins have. */
export function createEngines(parts: EnginesParts): WorkflowEngines {
  const { limits, typesOf, sinks, redactor, metrics } = parts;

  function prepare(
    scope: Scope,
    options: Omit<EngineOptions, 'database'> & { readonly database: () => Promise<Database> },
  ): PreparedEngine {
    const { name, nodeTypes = [], limits: own = {}, isDelivered = false, endsOnFailure = false } = options;
    const tables = workflowTables(name);
    const undo: (() => void)[] = [];
    scope.defer(() => {
      for (const release of undo) release();
    });
    let opened: OpenedEngine | undefined;
    const setup = {
      tables,
      redactor,
      metrics,
      endsOnFailure,
      limits: { ...limits, ...own },
      sinks: isDelivered ? sinks : () => [],
    };
    const open = bindEngine(scope, setup, async () => {
      const database = await options.database();
      const registered = await database.register({
        owner: `${scope.name}.${name}`,
        entities: tables.entities,
        migrations: tables.migrations,
      });
      undo.push(() => registered.release());
      return { database, types: typesOf(database, nodeTypes) };
    });
    return {
      async open() {
        const { engine, database } = await open();
        opened ??= { engine, database, archive: createEngineArchive({ database, tables, redactor, engine }) };
        return opened;
      },
      get opened() {
        return opened;
      },
    };
  }

  return {
    prepare,
    async open(scope, { database, ...options }) {
      return (await prepare(scope, { ...options, database: async () => database }).open()).engine;
    },
    tablesOf: (name) => personalTables(workflowTables(name)),
  };
}
