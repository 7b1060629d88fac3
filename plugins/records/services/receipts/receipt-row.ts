import { createHash } from 'node:crypto';
import { MAX_RECEIPT_TEXT, type NewReceipt, type Receipt, type ReceiptStatus } from '../../contract.ts';
import { RECEIPT_LENGTHS, type ReceiptRow } from '../../store/receipts/execution-receipt.ts';
import { storableText } from '../../store/usage/storable-text.ts';

import { storedName } from '../sessions/ownership.ts';

/** Largest value of a column of 32 bits. */
const MAX_INTEGER = 2 ** 31 - 1;

/** What a receipt is beside what its submitter says. */
export type ReceiptOrigin = Pick<Receipt, 'id' | 'tenantId' | 'createdAt'>;

/** The row of a new receipt. Text of any kind becomes text that every database keeps; what is too long is cut. Users are named as in sessions. */
export function toRow(receipt: NewReceipt, origin: ReceiptOrigin): ReceiptRow {
  const { idempotencyId, traceId } = receipt;
  return {
    ...origin,
    sessionId: storableText(receipt.sessionId, RECEIPT_LENGTHS.sessionId),
    userId: storedName(receipt.userId),
    toolName: storableText(receipt.toolName, RECEIPT_LENGTHS.toolName),
    input: JSON.stringify(shortened(receipt.input)),
    output: JSON.stringify(shortened(receipt.output)),
    status: receipt.status,
    durationMs: Math.min(Math.max(Math.round(receipt.durationMs), 0), MAX_INTEGER),
    idempotencyId: idempotencyId === null ? null : JSON.stringify(idempotencyId),
    idempotencyKey: idempotencyId === null ? null : idempotencyKey(idempotencyId),
    traceId: traceId === null ? null : storableText(traceId, RECEIPT_LENGTHS.traceId),
  };
}

/** The receipt of a row. */
export function toReceipt(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    tenantId: row.tenantId,
    sessionId: row.sessionId,
    userId: row.userId,
    toolName: row.toolName,
    input: JSON.parse(row.input),
    output: JSON.parse(row.output),
    status: row.status as ReceiptStatus,
    durationMs: row.durationMs,
    idempotencyId: row.idempotencyId === null ? null : JSON.parse(row.idempotencyId),
    traceId: row.traceId,
    createdAt: row.createdAt,
  };
}

/** What stands for an idempotency id in the unique index. Made of its JSON text, in which half surrogate pairs differ, too. */
export function idempotencyKey(idempotencyId: string): string {
  return createHash('sha256').update(JSON.stringify(idempotencyId)).digest('hex');
}

/** The beginning of a text, never half a character, and `…` where something is left out. */
function shortened(text: string): string {
  if (text.length <= MAX_RECEIPT_TEXT) return text;
  const last = MAX_RECEIPT_TEXT - 1;
  const end = isHighSurrogate(text.charCodeAt(last - 1)) ? last - 1 : last;
  return `${text.slice(0, end)}…`;
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
