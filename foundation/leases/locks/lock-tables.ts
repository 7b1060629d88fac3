import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../../data/database.ts';

/** Who holds which lock. Times are microseconds of the database's clock. */
const HeldLockRow = defineEntity({
  name: 'KernelLock',
  tableName: 'kernel_locks',
  properties: {
    /** The lock's key, a word that SQL keeps for itself. */
    name: column.string(200).primary(),
    /** Ticket of the holder, of the last one where `expiresAt` has passed. */
    holder: column.id(),
    fence: column.bigint(),
    expiresAt: column.bigint(),
  },
});

/** Who waits for which lock, at most one of each process. */
const TicketRow = defineEntity({
  name: 'KernelLockTicket',
  tableName: 'kernel_lock_tickets',
  indexes: [{ name: 'kernel_lock_tickets_line', properties: ['name', 'position'] }],
  properties: {
    id: column.id().primary(),
    name: column.string(200),
    /** When the waiting began. */
    position: column.bigint(),
    /** A process that waits prolongs it; one that died leaves the line with it. */
    expiresAt: column.bigint(),
  },
});

/** One row: which Redis may grant locks, and whether it may do so alone (delegation.ts). */
const DelegationRow = defineEntity({
  name: 'KernelLockDelegation',
  tableName: 'kernel_lock_delegation',
  properties: {
    id: column.id().primary(),
    /** The data of Redis to which the locks are delegated; empty: none. */
    dataset: column.string(100),
    suspendedSince: column.bigint(),
    suspendedUntil: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types, queries) => [
    schema
      .createTable('kernel_locks')
      .addColumn('name', types.string(200), (column) => column.notNull().primaryKey())
      .addColumn('holder', types.id, (column) => column.notNull())
      .addColumn('fence', types.bigint, (column) => column.notNull())
      .addColumn('expires_at', types.bigint, (column) => column.notNull()),
    schema
      .createTable('kernel_lock_tickets')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('name', types.string(200), (column) => column.notNull())
      .addColumn('position', types.bigint, (column) => column.notNull())
      .addColumn('expires_at', types.bigint, (column) => column.notNull()),
    schema.createIndex('kernel_lock_tickets_line').on('kernel_lock_tickets').columns(['name', 'position']),
    schema
      .createTable('kernel_lock_delegation')
      .addColumn('id', types.id, (column) => column.notNull().primaryKey())
      .addColumn('dataset', types.string(100), (column) => column.notNull())
      .addColumn('suspended_since', types.bigint, (column) => column.notNull())
      .addColumn('suspended_until', types.bigint, (column) => column.notNull()),
    queries
      .insertInto('kernel_lock_delegation')
      .values({ id: 'redis', dataset: '', suspended_since: 0, suspended_until: 0 }),
  ],
};

/** What the locks keep in the database: rows of the whole gateway, no tenant's. */
export const lockRegistration: Registration = {
  owner: 'kernel.locks',
  entities: [
    { entity: HeldLockRow, tenancy: 'shared' },
    { entity: TicketRow, tenancy: 'shared' },
    { entity: DelegationRow, tenancy: 'shared' },
  ],
  migrations: [initial],
};
