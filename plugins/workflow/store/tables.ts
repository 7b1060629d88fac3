import type { Database, EntityRegistration, Migration } from 'agent-gateway';
import { definitionTable } from './definition-store.ts';
import { eventTable } from './event-rows.ts';
import {
  definitionListsMigration,
  definitionsMigration,
  runBegunMigration,
  runListsMigration,
  runsMigration,
  runUserMigration,
} from './migrations.ts';
import { outboxTable } from './outbox-rows.ts';
import { runTable } from './run-rows.ts';
import { startTable } from './run-writes.ts';
import { stepTable } from './step-rows.ts';
import { versionTable } from './versions.ts';
import { workerTable } from './worker-leases.ts';

/** The tables of one engine: `<name>_runs`, `<name>_steps` … All but `workers` belong to tenants. */
export type WorkflowTables = ReturnType<typeof workflowTables>;

/** The tables of one engine, and where they are. */
export interface EngineStorage {
  readonly database: Database;
  readonly tables: WorkflowTables;
}

/** The tables of an engine. `name` is `[a-z][a-z0-9]{0,15}`, once in a database; throws for any other. */
export function workflowTables(name: string) {
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
  const { starts, outbox, ...shown } = owned;
  const entities: readonly EntityRegistration[] = [
    ...Object.values(shown),
    { entity: starts, impersonal: 'digests of idempotency keys, and ids of runs' },
    { entity: outbox, impersonal: 'ids of runs, and numbers of events' },
    { entity: workers, tenancy: 'shared' },
  ];
  const migrations: readonly Migration[] = [
    runsMigration(name),
    runListsMigration(name),
    runBegunMigration(name),
    runUserMigration(name),
  ];
  // Entities and migrations are for `database.register`, under an owner of the engine's own.
  return { name, ...owned, workers, entities, migrations };
}

/** The table of definitions, which only the gateway's own engine has. */
export type DefinitionTables = ReturnType<typeof definitionTables>;

/** The table `<name>_definitions`; its migration comes after those of `workflowTables`. */
export function definitionTables(name: string) {
  const definitions = definitionTable(name);
  const entities: readonly EntityRegistration[] = [definitions];
  const migrations: readonly Migration[] = [definitionsMigration(name), definitionListsMigration(name)];
  return { definitions, entities, migrations };
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
].toSorted((a, b) => (a.name < b.name ? -1 : 1));
