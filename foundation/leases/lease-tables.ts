import { defineEntity } from '@mikro-orm/core';
import { column, type Database, eraseExpired, type Migration, type Registration } from '../data/database.ts';

/**
 * Slots under keys, made as they are needed and used again: that a holder has one row is what bounds the holders. Times
 * are microseconds of the database's clock. A slot is free when `expiresAt` has passed.
 */
const SlotRow = defineEntity({
  name: 'KernelLease',
  tableName: 'kernel_leases',
  uniques: [{ name: 'kernel_leases_name', properties: ['leaseKey', 'name'] }],
  properties: {
    leaseKey: column.string(200).primary(),
    /** Counts from 0; a slot below the limit may be taken. */
    slot: column.integer().unsigned(false).primary(),
    /** Of the holder, or of the last one where it died; null after a release. */
    name: column.string(200).nullable(),
    ticket: column.id(),
    note: column.string(200),
    /** 1: the holder is asked to end. */
    revoked: column.integer(),
    expiresAt: column.bigint(),
  },
});

/** Which tickets wait for which name, at most one of each process. */
const TicketRow = defineEntity({
  name: 'KernelLeaseTicket',
  tableName: 'kernel_lease_tickets',
  indexes: [{ name: 'kernel_lease_tickets_line', properties: ['leaseKey', 'name', 'position'] }],
  properties: {
    id: column.id().primary(),
    leaseKey: column.string(200),
    name: column.string(200),
    /** When the waiting began. */
    position: column.bigint(),
    /** A process that waits prolongs it; one that died leaves the line with it. */
    expiresAt: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_leases')
      .addColumn('lease_key', types.string(200), (is) => is.notNull())
      .addColumn('slot', types.integer, (is) => is.notNull())
      .addColumn('name', types.string(200))
      .addColumn('ticket', types.id, (is) => is.notNull())
      .addColumn('note', types.string(200), (is) => is.notNull())
      .addColumn('revoked', types.integer, (is) => is.notNull())
      .addColumn('expires_at', types.bigint, (is) => is.notNull())
      .addPrimaryKeyConstraint('kernel_leases_pkey', ['lease_key', 'slot']),
    schema.index('kernel_leases', 'name', ['lease_key', 'name']).unique(),
    schema
      .createTable('kernel_lease_tickets')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('lease_key', types.string(200), (is) => is.notNull())
      .addColumn('name', types.string(200), (is) => is.notNull())
      .addColumn('position', types.bigint, (is) => is.notNull())
      .addColumn('expires_at', types.bigint, (is) => is.notNull()),
    schema.index('kernel_lease_tickets', 'line', ['lease_key', 'name', 'position']),
  ],
};

/**
 * What the leases keep in the database: rows of the whole gateway, no tenant's. The tables of the locks and permits
 * before them (`kernel_locks`, `kernel_lock_tickets`, `kernel_lock_delegation`, `kernel_permits`) are left alone:
 * replicas of that version may still run in parallel with this one.
 */
export const leaseRegistration: Registration = {
  owner: 'kernel.leases',
  entities: [
    { entity: SlotRow, tenancy: 'shared' },
    { entity: TicketRow, tenancy: 'shared' },
  ],
  migrations: [initial],
};

/** Milliseconds after their last use at which rows may go. */
const REMEMBERED_MS = { slots: 3_600_000, tickets: 600_000 };

/**
 * Deletes slots that were not held for an hour, which are made again when they are needed, and tickets of processes
 * that died.
 */
export async function sweepLeases(
  database: Pick<Database, 'eraseOfAll' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const old = (rememberedMs: number) => ({
    expiresAt: { $lt: (database.clock.now() - rememberedMs) * 1_000 },
  });
  await eraseExpired(database, SlotRow, old(REMEMBERED_MS.slots), signal);
  await eraseExpired(database, TicketRow, old(REMEMBERED_MS.tickets), signal);
}
