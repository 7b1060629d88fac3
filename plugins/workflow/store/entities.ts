import type { EntityRegistration, Migration } from 'agent-gateway';
import { definitionTables, workflowTables } from './workflow-tables.ts';

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
