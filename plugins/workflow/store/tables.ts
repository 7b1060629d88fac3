import type { EntityRegistration, Migration } from 'agent-gateway';
import { type DefinitionTable, definitionTable } from './definition-store.ts';
import { type EventTable, eventTable } from './event-rows.ts';
import { definitionsMigration, runsMigration } from './migrations.ts';
import { type OutboxTable, outboxTable } from './outbox-rows.ts';
import { type RunTable, runTable } from './run-rows.ts';
import { type StartTable, startTable } from './run-writes.ts';
import { type StepTable, stepTable } from './step-rows.ts';
import { type VersionTable, versionTable } from './versions.ts';
import { type WorkerTable, workerTable } from './worker-leases.ts';

/** The tables of one engine: `<name>_runs`, `<name>_steps` … All but `workers` belong to tenants. */
export interface WorkflowTables {
  readonly name: string;
  readonly runs: RunTable;
  readonly steps: StepTable;
  readonly events: EventTable;
  readonly starts: StartTable;
  readonly outbox: OutboxTable;
  readonly workers: WorkerTable;
  readonly versions: VersionTable;
  /** For `database.register`, under an owner of the engine's own. */
  readonly entities: readonly EntityRegistration[];
  readonly migrations: readonly Migration[];
}

/** The tables of an engine. `name` is `[a-z][a-z0-9]{0,15}`, once in a database; throws for any other. */
export function workflowTables(name: string): WorkflowTables {
  if (!/^[a-z][a-z0-9]{0,15}$/.test(name)) {
    throw new TypeError(
      `The name of a workflow engine is 1 to 16 characters of a-z and 0-9, a letter first; not ${JSON.stringify(name)}`,
    );
  }
  const owned = {
    runs: runTable(name),
    steps: stepTable(name),
    events: eventTable(name),
    starts: startTable(name),
    outbox: outboxTable(name),
    versions: versionTable(name),
  };
  const workers = workerTable(name);
  return {
    name,
    ...owned,
    workers,
    entities: [...Object.values(owned), { entity: workers, tenancy: 'shared' }],
    migrations: [runsMigration(name)],
  };
}

/** The table of definitions, which only the gateway's own engine has. */
export interface DefinitionTables {
  readonly definitions: DefinitionTable;
  readonly entities: readonly EntityRegistration[];
  readonly migrations: readonly Migration[];
}

/** The table `<name>_definitions`; its migration comes after those of `workflowTables`. */
export function definitionTables(name: string): DefinitionTables {
  const definitions = definitionTable(name);
  return { definitions, entities: [definitions], migrations: [definitionsMigration(name)] };
}

/** The tables of the gateway's own engine. */
export const gatewayTables = workflowTables('workflow');
/** The definitions of its tenants. */
export const gatewayDefinitions = definitionTables('workflow');

/** All of them, for the plugin. */
export const entities: readonly EntityRegistration[] = [
  ...gatewayTables.entities,
  ...gatewayDefinitions.entities,
];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  ...gatewayTables.migrations,
  ...gatewayDefinitions.migrations,
];
