import { defineEntity } from '@mikro-orm/core';
import { column, type Migration, type Registration } from '../data/database.ts';

/** When a task that one replica runs is due. Times are milliseconds of the database's clock. */
export const ScheduleRow = defineEntity({
  name: 'KernelSchedule',
  tableName: 'kernel_schedules',
  properties: {
    /** `<plugin>.<task>`. */
    name: column.string(150).primary(),
    /** A run that has ended moves it on; one whose process died does not. */
    nextAt: column.bigint(),
  },
});

const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('kernel_schedules')
      .addColumn('name', types.string(150), (is) => is.notNull().primaryKey())
      .addColumn('next_at', types.bigint, (is) => is.notNull()),
  ],
};

/**
 * The times of tasks that run once over all replicas: one row for each, of no tenant. The row of a plugin that is gone
 * stays.
 */
export const scheduleRegistration: Registration = {
  owner: 'kernel.schedules',
  entities: [{ entity: ScheduleRow, tenancy: 'shared' }],
  migrations: [initial],
};
