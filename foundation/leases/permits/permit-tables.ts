import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../../data/database.ts';

/**
 * Places under keys, made as they are needed and used again: that there is one row for a place is what bounds the holders. Times are
 * microseconds of the database's clock. A place is free when `expiresAt` has passed.
 */
const PlaceRow = defineEntity({
  name: 'KernelPermit',
  tableName: 'kernel_permits',
  uniques: [{ name: 'kernel_permits_name', properties: ['permitKey', 'name'] }],
  properties: {
    permitKey: column.string(200).primary(),
    /** Counts from 0; a place below the limit may be taken. */
    slot: column.integer().unsigned(false).primary(),
    /** Of the holder, or of the last one where he died; null after a release. */
    name: column.string(200).nullable(),
    ticket: column.id(),
    note: column.string(200),
    /** 1: the holder is asked to end. */
    revoked: column.integer(),
    expiresAt: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_permits')
      .addColumn('permit_key', types.string(200), (is) => is.notNull())
      .addColumn('slot', types.integer, (is) => is.notNull())
      .addColumn('name', types.string(200))
      .addColumn('ticket', types.id, (is) => is.notNull())
      .addColumn('note', types.string(200), (is) => is.notNull())
      .addColumn('revoked', types.integer, (is) => is.notNull())
      .addColumn('expires_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('kernel_permits_pkey', ['permit_key', 'slot']),
    schema.createIndex('kernel_permits_name').unique().on('kernel_permits').columns(['permit_key', 'name']),
  ],
};

/** What the permits keep in the database: rows of the whole gateway, no tenant's. */
export const permitRegistration: Registration = {
  owner: 'kernel.permits',
  entities: [{ entity: PlaceRow, tenancy: 'shared' }],
  migrations: [initial],
};
