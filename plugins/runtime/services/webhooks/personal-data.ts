import { type Database, eachRow, type PersonalData } from 'agent-gateway';
import { allWebhooks, DeliveryTable, eraseWebhooks, LogTable, WebhookTable } from '../../store/webhooks.ts';
import { logRecord, webhookRecord } from './records.ts';

/** Rows that are read at one time: a body may have 64 KiB. */
const PAGE = 100;

interface WebhookDataParts {
  readonly database: Pick<Database, 'forTenant'>;
  /** Notifies replicas that the webhooks of a tenant have changed. */
  readonly changed: (tenantId: string) => void;
}

/**
 * The personal data of webhooks: for the whole tenant the webhooks and their logs; for one user the undelivered events
 * about the user, where the publisher named the user. Events of workflows name no user; they are deleted once they are
 * delivered, after three days at most.
 */
export function createWebhookData({ database, changed }: WebhookDataParts): PersonalData {
  return {
    name: 'runtime-webhooks',
    sections: [
      {
        name: 'webhooks',
        entities: [WebhookTable],
        async *read({ tenantId, userId }) {
          if (userId !== undefined) return;
          for await (const webhook of allWebhooks(database.forTenant(tenantId))) yield webhookRecord(webhook);
        },
      },
      {
        name: 'webhook_logs',
        entities: [LogTable],
        async *read({ tenantId, userId }) {
          if (userId !== undefined) return;
          for await (const log of eachRow(database.forTenant(tenantId), LogTable, {}, { by: ['id'] }))
            yield { ...logRecord(log), webhook_id: log.webhookId };
        },
      },
      {
        name: 'webhook_deliveries',
        entities: [DeliveryTable],
        async *read({ tenantId, userId }) {
          const where = userId === undefined ? {} : { userId };
          const query = { by: ['id'], page: PAGE } as const;
          for await (const row of eachRow(database.forTenant(tenantId), DeliveryTable, where, query)) {
            const { id, webhookId: webhook_id, eventId: event_id, body } = row;
            yield { id, webhook_id, event_id, event: JSON.parse(body) };
          }
        },
      },
    ],
    erase: (entities, { userId }) => eraseWebhooks(entities, userId),
    erased({ tenantId, userId }) {
      if (userId === undefined) changed(tenantId);
    },
  };
}
