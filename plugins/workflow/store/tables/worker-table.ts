import { column, defineEntity } from 'agent-gateway';
import { entityName, LENGTHS } from './names.ts';

/** Processes that carry out steps, for all tenants. One is alive until `expires_at`, on the database's clock. */
export function workerTable(name: string) {
  return defineEntity({
    name: entityName(name, 'worker'),
    tableName: `${name}_workers`,
    properties: {
      id: column.string(LENGTHS.worker).primary(),
      expiresAt: column.bigint(),
    },
  });
}

export type WorkerTable = ReturnType<typeof workerTable>;
