import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';

/** Lengths of the columns, in characters; the migration `002-receipts` has the same. */
export const RECEIPT_LENGTHS = {
  sessionId: 128,
  userId: 255,
  toolName: 128,
  requestId: 255,
  traceId: 64,
} as const;

/**
 * A receipt as it is stored. Input, output and idempotency id are JSON texts of strings: any character survives in
 * them. Of all receipts with the same idempotency key a tenant has one; null is no key.
 */
export const ExecutionReceipt = defineEntity({
  name: 'ExecutionReceipt',
  tableName: 'execution_receipts',
  uniques: [{ name: 'execution_receipts_once', properties: ['tenantId', 'idempotencyKey'] }],
  indexes: [
    { name: 'execution_receipts_created', properties: ['tenantId', 'createdAt', 'id'] },
    { name: 'execution_receipts_session', properties: ['tenantId', 'sessionId', 'createdAt', 'id'] },
    { name: 'execution_receipts_request', properties: ['tenantId', 'requestId', 'createdAt', 'id'] },
    { name: 'execution_receipts_tool', properties: ['tenantId', 'toolName', 'createdAt', 'id'] },
    { name: 'execution_receipts_status', properties: ['tenantId', 'status', 'createdAt', 'id'] },
    {
      name: 'execution_receipts_tool_status',
      properties: ['tenantId', 'toolName', 'status', 'createdAt', 'id'],
    },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    sessionId: column.string(RECEIPT_LENGTHS.sessionId),
    userId: column.string(RECEIPT_LENGTHS.userId),
    toolName: column.string(RECEIPT_LENGTHS.toolName),
    input: column.text(),
    output: column.text(),
    status: column.string(16),
    durationMs: column.integer(),
    idempotencyId: column.text().strictNullable(),
    /** A hash: ids of any length are unique in an index of bounded length. */
    idempotencyKey: column.string(64).strictNullable(),
    traceId: column.string(RECEIPT_LENGTHS.traceId).strictNullable(),
    createdAt: column.time(),
    /** Null in rows that were written before these two were kept. */
    requestId: column.string(RECEIPT_LENGTHS.requestId).strictNullable(),
    startedAt: column.time().strictNullable(),
  },
});

/** A row of `execution_receipts`. */
export type ReceiptRow = InferEntity<typeof ExecutionReceipt>;
