import { column, defineEntity } from 'agent-gateway';
import { entityName, LENGTHS } from './names.ts';

/** Events that wait for their delivery: one row for the events of one commit and each sink that wants them, so that no sink waits for another. */
export function outboxTable(name: string) {
  return defineEntity({
    name: entityName(name, 'outbox'),
    tableName: `${name}_outbox`,
    indexes: [{ name: `${name}_outbox_next`, properties: ['sink', 'nextAt'] }],
    properties: {
      runId: column.id().primary(),
      sink: column.string(LENGTHS.sink).primary(),
      fromSeq: column.integer().unsigned(false).primary(),
      tenantId: column.tenant(),
      toSeq: column.integer(),
      createdAt: column.bigint(),
      /** When it may be taken: its creation, the end of a claim, or of a pause after a failure. */
      nextAt: column.bigint(),
      attempts: column.integer(),
      /** Who has it, while `next_at` is to come. */
      claim: column.id().nullable(),
    },
  });
}

export type OutboxTable = ReturnType<typeof outboxTable>;
