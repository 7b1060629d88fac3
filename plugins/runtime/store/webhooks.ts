import type { InferEntity } from '@mikro-orm/core';
import {
  column,
  type Database,
  defineEntity,
  eachRow,
  type Page,
  type RetainedRecords,
  type RowWrite,
  retainedRows,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';

/** A webhook of a tenant. Times are milliseconds since the epoch. Secrets are sealed. */
export const WebhookTable = defineEntity({
  name: 'RuntimeWebhook',
  tableName: 'runtime_webhooks',
  properties: {
    tenantId: column.tenant().primary(),
    id: column.id().primary(),
    url: column.text(),
    /** JSON texts. */
    events: column.text(),
    description: column.text(),
    active: column.boolean(),
    secret: column.text(),
    /** Signs as well, until it expires. One or more secrets, with spaces in between, sealed together. */
    previousSecret: column.text().strictNullable(),
    previousUntil: column.bigint().strictNullable(),
    createdAt: column.bigint(),
  },
});

/** One event to be delivered to one webhook; the row is deleted when the event was delivered or abandoned. */
export const DeliveryTable = defineEntity({
  name: 'RuntimeWebhookDelivery',
  tableName: 'runtime_webhook_deliveries',
  indexes: [
    { name: 'runtime_webhook_deliveries_webhook', properties: ['tenantId', 'webhookId'] },
    { name: 'runtime_webhook_deliveries_created', properties: ['createdAt'] },
  ],
  properties: {
    tenantId: column.tenant().primary(),
    id: column.id().primary(),
    webhookId: column.id(),
    /** The `webhook-id` of all of its attempts. */
    eventId: column.string(64),
    eventType: column.string(64),
    /** The user whose activity the event reports, where that is known. */
    userId: column.string(256).strictNullable(),
    /** The next attempt: 1 for the first. */
    attempt: column.integer().unsigned(false),
    /** The body, exactly as it is sent. */
    body: column.text(),
    createdAt: column.bigint(),
  },
});

/** One attempt to deliver an event. */
export const LogTable = defineEntity({
  name: 'RuntimeWebhookLog',
  tableName: 'runtime_webhook_logs',
  indexes: [
    { name: 'runtime_webhook_logs_webhook', properties: ['tenantId', 'webhookId', 'id'] },
    { name: 'runtime_webhook_logs_delivered', properties: ['deliveredAt'] },
  ],
  properties: {
    tenantId: column.tenant().primary(),
    id: column.id().primary(),
    webhookId: column.id(),
    eventId: column.string(64),
    eventType: column.string(64),
    /** Null where there was no answer. */
    statusCode: column.integer().unsigned(false).strictNullable(),
    attempt: column.integer().unsigned(false),
    durationMs: column.integer().unsigned(false),
    error: column.text().strictNullable(),
    deliveredAt: column.bigint(),
  },
});

export const webhookEntities = [WebhookTable, DeliveryTable, LogTable];

/** A webhook as it is stored. */
export interface StoredWebhook extends Omit<InferEntity<typeof WebhookTable>, 'tenantId' | 'events'> {
  readonly events: readonly string[];
}

export type StoredDelivery = Omit<InferEntity<typeof DeliveryTable>, 'tenantId'>;
export type StoredLog = Omit<InferEntity<typeof LogTable>, 'tenantId'>;

function ofRow({ tenantId: _, ...row }: InferEntity<typeof WebhookTable>): StoredWebhook {
  return { ...row, events: JSON.parse(row.events), description: JSON.parse(row.description) };
}

/** Newest first: ids are ordered by the time at which they were made. */
const NEWEST = { orderBy: { id: 'desc' } } as const;
/** Attempts that the log of a webhook keeps, and how many more may follow before the oldest are deleted. */
export const KEPT_LOGS = 200;
const SPARE_LOGS = 50;

export const findWebhook = async (
  entities: TenantEntityManager,
  id: string,
): Promise<StoredWebhook | undefined> => {
  const [row] = await entities.rows(WebhookTable, { id }, { limit: 1 });
  return row && ofRow(row);
};

export const insertWebhook = (entities: TenantEntityManager, webhook: StoredWebhook): Promise<void> =>
  entities.insert(WebhookTable, {
    ...webhook,
    events: JSON.stringify(webhook.events),
    description: JSON.stringify(webhook.description),
  });

/** False where there is none, or none of these properties. */
export async function updateWebhook(
  entities: TenantEntityManager,
  where: Pick<StoredWebhook, 'id'> & Partial<Pick<StoredWebhook, 'secret' | 'url'>>,
  { events, description, ...plain }: Partial<StoredWebhook>,
): Promise<boolean> {
  const changes = {
    ...plain,
    ...(events && { events: JSON.stringify(events) }),
    ...(description !== undefined && { description: JSON.stringify(description) }),
  };
  return (await entities.update(WebhookTable, where, changes)) > 0;
}

/** Deletes a webhook with its log and its undelivered events; false where there is none. */
export const deleteWebhook = (entities: TenantEntityManager, id: string): Promise<boolean> =>
  entities.writeTogether([
    writes.delete(WebhookTable, { id }, { expect: 1 }),
    writes.delete(DeliveryTable, { webhookId: id }),
    writes.delete(LogTable, { webhookId: id }),
  ]);

export async function listWebhooks(entities: TenantEntityManager, page: Page) {
  const rows = await entities.rows(WebhookTable, {}, { ...NEWEST, ...page });
  return { webhooks: rows.map(ofRow), total: await entities.count(WebhookTable) };
}

export async function listLogs(entities: TenantEntityManager, webhookId: string, page: Page) {
  const logs = await entities.rows(LogTable, { webhookId }, { ...NEWEST, ...page });
  return { logs, total: await entities.count(LogTable, { webhookId }) };
}

/** The number of undelivered events, by webhook. */
export async function pendingByWebhook(entities: TenantEntityManager): Promise<ReadonlyMap<string, number>> {
  const groups = await entities.aggregate(DeliveryTable, { where: {}, by: ['webhookId'] });
  return new Map(groups.map(({ webhookId, count }) => [webhookId, count]));
}

export const deliveryWrite = (deliveries: readonly StoredDelivery[]): RowWrite =>
  writes.insert(DeliveryTable, deliveries);

type Attempted = Pick<StoredDelivery, 'id' | 'attempt'>;

/** Ends a delivery; matches nothing where another process has attempted it meanwhile. */
export const endDelivery = ({ id, attempt }: Attempted): RowWrite =>
  writes.delete(DeliveryTable, { id, attempt }, { expect: 1 });

/** Moves a delivery on to its next attempt; matches like `endDelivery`. */
export const nextAttempt = ({ id, attempt }: Attempted): RowWrite =>
  writes.update(DeliveryTable, { id, attempt }, { attempt: attempt + 1 }, { expect: 1 });

export const logWrite = (log: StoredLog): RowWrite => writes.insert(LogTable, [log]);

export const findDelivery = async (
  entities: TenantEntityManager,
  id: string,
): Promise<StoredDelivery | undefined> => (await entities.rows(DeliveryTable, { id }, { limit: 1 }))[0];

/** Deletes the oldest attempts of a log that has become too long. */
export async function trimLogs(entities: TenantEntityManager, webhookId: string): Promise<void> {
  const query = { ...NEWEST, offset: KEPT_LOGS, limit: SPARE_LOGS, fields: ['id'] } as const;
  const surplus = await entities.rows(LogTable, { webhookId }, query);
  const [newest] = surplus;
  if (newest === undefined || surplus.length < SPARE_LOGS) return;
  await entities.delete(LogTable, { webhookId, id: { $lte: newest.id } });
}

/** Milliseconds for which attempts stay in the log, unless a retention rule says otherwise. */
const KEEP_LOGS_MS = 30 * 24 * 3_600_000;

/** Old attempts may be deleted. */
export function retainedLogs(database: Pick<Database, 'forTenant' | 'system'>): RetainedRecords {
  return retainedRows(database, {
    name: 'webhook_logs',
    summary: 'Attempts to deliver events to webhooks, by their time',
    keptFor: KEEP_LOGS_MS,
    entity: LogTable,
    older: (before) => ({ deliveredAt: { $lt: before.getTime() } }),
  });
}

/** All webhooks of the tenant, oldest first. For exports. */
export async function* allWebhooks(entities: TenantEntityManager): AsyncGenerator<StoredWebhook> {
  for await (const row of eachRow(entities, WebhookTable, {}, { by: ['id'] })) yield ofRow(row);
}

/** Rows that one page reads. */
const RESEAL_PAGE = 500;

/**
 * Stores the secrets of all tenants' webhooks in the form that `reseal` gives, where it gives one. Returns how many.
 */
export async function resealWebhooks(
  database: Pick<Database, 'system'>,
  reseal: (stored: string, tenantId: string, id: string) => string | undefined,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (let id = ''; !signal.aborted; ) {
    const rows = await database
      .system()
      .find(WebhookTable, { id: { $gt: id } }, { orderBy: { id: 'asc' }, limit: RESEAL_PAGE });
    for (const row of rows) {
      for (const member of ['secret', 'previousSecret'] as const) {
        const stored = row[member];
        const sealed = stored === null ? undefined : reseal(stored, row.tenantId, row.id);
        if (sealed === undefined) continue;
        // Only over what was read: a rotation may have put another secret there.
        const where = { tenantId: row.tenantId, id: row.id, [member]: stored };
        count += await database.system().nativeUpdate(WebhookTable, where, { [member]: sealed });
      }
    }
    if (rows.length < RESEAL_PAGE) return count;
    id = rows.at(-1)!.id;
  }
  return count;
}

/**
 * Deletes the tenant's webhooks, logs and undelivered events, or only the undelivered events that report a user's
 * activity, inside the caller's transaction.
 *
 * @returns the number of rows of each kind
 */
export async function eraseWebhooks(
  entities: TenantEntityManager,
  userId: string | undefined,
): Promise<Readonly<Record<string, number>>> {
  const webhook_deliveries = await entities.erase(DeliveryTable, userId === undefined ? {} : { userId });
  if (userId !== undefined) return { webhook_deliveries };
  const webhook_logs = await entities.erase(LogTable, {});
  return { webhooks: await entities.delete(WebhookTable, {}), webhook_logs, webhook_deliveries };
}
