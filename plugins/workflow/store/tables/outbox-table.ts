import { column, defineEntity } from 'agent-gateway';
import { entityName, LENGTHS } from './names.ts';

/** `next_at` of a row that may be taken at once, if it is the first of its run: every row begins with it. */
export const READY = 0;

/**
 * Events that wait for their delivery: one row for the events of one commit and each sink that wants them, so that no sink waits for another.
 *
 * The index has what is ready by tenant, the oldest first, and everything else by the time when it is looked at again: each is found by reading
 * nothing else, however much waits.
 */
export function outboxTable(name: string) {
  return defineEntity({
    name: entityName(name, 'outbox'),
    tableName: `${name}_outbox`,
    indexes: [
      {
        name: `${name}_outbox_next`,
        properties: ['sink', 'nextAt', 'tenantId', 'createdAt', 'runId', 'fromSeq'],
      },
    ],
    properties: {
      runId: column.id().primary(),
      sink: column.string(LENGTHS.sink).primary(),
      fromSeq: column.integer().unsigned(false).primary(),
      tenantId: column.tenant(),
      toSeq: column.integer(),
      createdAt: column.bigint(),
      /** `READY`, or when it is looked at again: the end of a claim, of a pause after a failure, or a while after that of the row before it. */
      nextAt: column.bigint(),
      attempts: column.integer(),
      /** Who has it, or had it last; null in what was put off, and in what has never been the first of its run. */
      claim: column.id().nullable(),
    },
  });
}

export type OutboxTable = ReturnType<typeof outboxTable>;
