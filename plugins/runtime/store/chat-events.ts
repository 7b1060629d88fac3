import type { InferEntity } from '@mikro-orm/core';
import {
  column,
  defineEntity,
  eachRow,
  type RowWrite,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import { OWNER_LENGTH, ofOwner } from '../../records/contract.ts';
import type { A2uiEvent } from '../services/chat/a2ui-events.ts';

/**
 * Events of chats in the background, numbered from 1 and stored in batches. A chat begins with an empty batch of
 * number 0. The key acts as a fence: of two processes that write the events after the same event, only one succeeds.
 */
export const ChatEventsTable = defineEntity({
  name: 'RuntimeChatEvents',
  tableName: 'runtime_chat_events',
  indexes: [
    { name: 'runtime_chat_events_session', properties: ['tenantId', 'sessionId', 'seq', 'createdAt'] },
    { name: 'runtime_chat_events_created', properties: ['createdAt'] },
  ],
  properties: {
    tenantId: column.tenant().primary(),
    chatId: column.id().primary(),
    /** Number of the first event of the batch. */
    seq: column.integer().unsigned(false).primary(),
    sessionId: column.string(128),
    identityId: column.string(OWNER_LENGTH),
    userId: column.string(OWNER_LENGTH),
    /** JSON text of an array of `StoredEvent`. */
    events: column.text(),
    /** Milliseconds since the epoch. */
    createdAt: column.bigint(),
  },
});

/** Batches that an export reads at one time. */
const EXPORTED = 50;

/** One event as it is stored. */
export interface StoredEvent extends A2uiEvent {
  /** When it happened: milliseconds since the epoch. */
  readonly at: number;
}

/** Some consecutive events of a chat. */
export interface EventBatch extends Omit<InferEntity<typeof ChatEventsTable>, 'tenantId' | 'events'> {
  readonly events: readonly StoredEvent[];
}

/** Fails with a unique violation where another process has written these events. */
export const insertBatch = (batch: EventBatch): RowWrite =>
  writes.insert(ChatEventsTable, [{ ...batch, events: JSON.stringify(batch.events) }]);

/** The batch that holds event `seq` of a chat, or the last one before it. Undefined where the chat does not exist. */
export async function batchAt(
  entities: TenantEntityManager,
  chatId: string,
  seq: number,
): Promise<EventBatch | undefined> {
  const where = { chatId, seq: { $lte: seq } };
  const [row] = await entities.rows(ChatEventsTable, where, { orderBy: { seq: 'desc' }, limit: 1 });
  return row && ofRow(row);
}

/** The batches after the one of number `seq`, in order. */
export async function batchesAfter(
  entities: TenantEntityManager,
  chatId: string,
  seq: number,
  limit: number,
): Promise<readonly EventBatch[]> {
  const where = { chatId, seq: { $gt: seq } };
  return (await entities.rows(ChatEventsTable, where, { orderBy: { seq: 'asc' }, limit })).map(ofRow);
}

/** The id of the chat in a session that began last. */
export async function newestChat(
  entities: TenantEntityManager,
  sessionId: string,
): Promise<string | undefined> {
  const options = { fields: ['chatId'], orderBy: { createdAt: 'desc' }, limit: 1 } as const;
  const [row] = await entities.rows(ChatEventsTable, { sessionId, seq: 0 }, options);
  return row?.chatId;
}

/** Deletes the events of all chats in a session; returns the number of batches. */
export function deleteEventsIn(entities: TenantEntityManager, sessionId: string): Promise<number> {
  return entities.delete(ChatEventsTable, { sessionId });
}

/**
 * Batches of an identity, or of a user that an identity named, in order; without a name of all of the tenant. For
 * exports.
 */
export async function* allBatches(
  entities: TenantEntityManager,
  name: string | undefined,
): AsyncGenerator<EventBatch> {
  const query = { by: ['chatId', 'seq'], page: EXPORTED } as const;
  for (const where of ofOwner(name)) {
    for await (const row of eachRow(entities, ChatEventsTable, where, query)) yield ofRow(row);
  }
}

function ofRow({ tenantId: _, events, ...row }: InferEntity<typeof ChatEventsTable>): EventBatch {
  return { ...row, events: JSON.parse(events) };
}
