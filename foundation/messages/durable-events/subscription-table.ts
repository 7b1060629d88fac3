import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../../data/database.ts';

/** Who subscribes to durable events, in whichever replica. Times are milliseconds of the database's clock. */
export const SubscriptionRow = defineEntity({
  name: 'KernelSubscription',
  tableName: 'kernel_subscriptions',
  properties: {
    queue: column.string(100).primary(),
    /** Id of the event. */
    event: column.string(100),
    /** Of a delivery, before it is dead. */
    attempts: column.integer().unsigned(false),
    /** When a process last had it. */
    seenAt: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_subscriptions')
      .addColumn('queue', types.string(100), (is) => is.notNull().primaryKey())
      .addColumn('event', types.string(100), (is) => is.notNull())
      .addColumn('attempts', types.integer, (is) => is.notNull())
      .addColumn('seen_at', types.bigint, (is) => is.notNull()),
  ],
};

/** What durable events keep in the database in addition to the jobs that deliver them. */
export const subscriptionRegistration: Registration = {
  owner: 'kernel.subscriptions',
  entities: [{ entity: SubscriptionRow, tenancy: 'shared' }],
  migrations: [initial],
};
