import type { Database } from 'agent-gateway';
import type { PersonalData } from '../../../platform/contract.ts';
import { allRows, allWebhooks, DeliveryTable, eraseWebhooks, LogTable } from '../../store/webhooks.ts';
import { logRecord, webhookRecord } from './records.ts';

/**
 * What webhooks keep about people: themselves and their logs for the whole tenant; for one user the events about him that are on their way, where their
 * publisher named him. Those of workflows name nobody; they are gone when they were delivered, three days later at most.
 */
export function createWebhookData(database: Pick<Database, 'forTenant'>): PersonalData {
  return {
    name: 'runtime-webhooks',

    async *export({ tenantId, userId, signal }) {
      const entities = database.forTenant(tenantId);
      if (userId === undefined) {
        for await (const webhook of allWebhooks(entities)) {
          if (signal.aborted) return;
          yield { section: 'webhooks', record: { ...webhookRecord(webhook) } };
        }
        for await (const log of allRows(entities, LogTable, {})) {
          if (signal.aborted) return;
          yield { section: 'webhook_logs', record: { ...logRecord(log), webhook_id: log.webhookId } };
        }
      }
      for await (const { id, webhookId, eventId, body } of allRows(
        entities,
        DeliveryTable,
        userId === undefined ? {} : { userId },
      )) {
        if (signal.aborted) return;
        const record = { id, webhook_id: webhookId, event_id: eventId, event: JSON.parse(body) };
        yield { section: 'webhook_deliveries', record };
      }
    },

    erase: (entities, { userId }) => eraseWebhooks(entities, userId),
  };
}
