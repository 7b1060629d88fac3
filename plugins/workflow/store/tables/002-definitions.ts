import type { Migration } from 'agent-gateway';
import { LENGTHS } from './names.ts';

/** The table of definitions, for the gateway's own engine. A released migration never changes. */
export function definitionsMigration(name: string): Migration {
  return {
    name: '002-definitions',
    up: (schema, types) => [
      schema
        .createTable(`${name}_definitions`)
        .addColumn('tenant_id', types.tenant, (is) => is.notNull())
        .addColumn('id', types.id, (is) => is.notNull())
        .addColumn('name', types.text, (is) => is.notNull())
        .addColumn('description', types.text, (is) => is.notNull())
        .addColumn('graph', types.text, (is) => is.notNull())
        .addColumn('status', types.string(LENGTHS.status), (is) => is.notNull())
        .addColumn('latest_version', types.integer)
        .addColumn('revision', types.integer, (is) => is.notNull())
        .addColumn('created_by', types.string(LENGTHS.identity), (is) => is.notNull())
        .addColumn('created_at', types.bigint, (is) => is.notNull())
        .addColumn('updated_at', types.bigint, (is) => is.notNull())
        .addPrimaryKeyConstraint(`${name}_definitions_pkey`, ['tenant_id', 'id']),
      schema
        .createIndex(`${name}_definitions_created`)
        .on(`${name}_definitions`)
        .columns(['tenant_id', 'created_at']),
    ],
  };
}
