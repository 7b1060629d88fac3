import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../data/database.ts';

/** The replicas that run. Times are milliseconds of the database's clock. */
export const ReplicaRow = defineEntity({
  name: 'KernelReplica',
  tableName: 'kernel_replicas',
  properties: {
    /** Of the process: another one after each start. */
    id: column.id().primary(),
    /** Name of the machine, for operators. */
    host: column.string(255),
    /** JSON: marks of settings by their variables. */
    settings: column.text(),
    seenAt: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_replicas')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('host', types.string(255), (is) => is.notNull())
      .addColumn('settings', types.text, (is) => is.notNull())
      .addColumn('seen_at', types.bigint, (is) => is.notNull()),
  ],
};

/** What replicas tell each other of their settings. */
export const replicaRegistration: Registration = {
  owner: 'kernel.replicas',
  entities: [{ entity: ReplicaRow, tenancy: 'shared' }],
  migrations: [initial],
};
