import { createHash } from 'node:crypto';
import {
  type Clock,
  type Ids,
  isUniqueViolation,
  isUuid,
  storableText,
  type TenantEntityManager,
} from 'agent-gateway';
import {
  MAX_RECEIPT_TEXT,
  type NewReceipt,
  type Receipt,
  ReceiptErrors,
  type ReceiptFilter,
  type ReceiptStatus,
  type Receipts,
  storedName,
} from '../contract.ts';
import { ExecutionReceipt, RECEIPT_LENGTHS, type ReceiptRow } from '../store/receipts.ts';

/** Times that a receipt is looked for after its idempotency id was taken: in between an erasure may have deleted it. */
const ATTEMPTS = 3;
/** Receipts that are read at one time; their texts may have a MiB each. */
const READ = 25;
/** The members of a receipt that `q` searches. */
const SEARCHED = ['id', 'toolName', 'sessionId', 'userId'] as const;
const NEWEST = { createdAt: 'desc', id: 'desc' } as const;

/** Makes the receipts (specification 1, Execution receipt). */
export function createReceipts({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }): Receipts {
  return {
    async submit(entities, receipt) {
      const createdAt = new Date(clock.now());
      const row = toRow(receipt, { id: ids.uuid(), tenantId: entities.tenantId, createdAt });
      for (let attempt = 1; ; attempt += 1) {
        try {
          await entities.insert(ExecutionReceipt, row);
          return toReceipt(row);
        } catch (error) {
          // The unique key decides between retries that come at the same time; the one that loses finds the winner's.
          if (row.idempotencyKey === null || !isUniqueViolation(error)) throw error;
          const existing = await entities.findOne(ExecutionReceipt, { idempotencyKey: row.idempotencyKey });
          if (existing !== null) return toReceipt(existing);
          if (attempt === ATTEMPTS) throw error;
        }
      }
    },
    async findByIdempotencyId(entities, idempotencyId) {
      const row = await entities.findOne(ExecutionReceipt, { idempotencyKey: idempotencyKey(idempotencyId) });
      return row === null ? undefined : toReceipt(row);
    },
    async list(entities, filter, { limit, offset }) {
      const search = filter.q === undefined ? undefined : { text: filter.q, in: SEARCHED };
      const query = { orderBy: NEWEST, limit, offset, search, fields: ['id'] as const };
      const [rows, total] = await entities.page(ExecutionReceipt, conditions(filter), query);
      const ids = rows.map(({ id }) => id);
      return { receipts: receiptsOf(entities, ids), total };
    },
    async get(entities, id) {
      const row = isUuid(id) ? await entities.findOne(ExecutionReceipt, { id }) : null;
      if (row === null) throw ReceiptErrors.notFound();
      return toReceipt(row);
    },
  };
}

/** Those of the ids that are still there, newest first. */
async function* receiptsOf(entities: TenantEntityManager, ids: readonly string[]): AsyncGenerator<Receipt> {
  for (let from = 0; from < ids.length; from += READ) {
    const where = { id: { $in: ids.slice(from, from + READ) } };
    const rows = await entities.rows(ExecutionReceipt, where, { orderBy: NEWEST, limit: READ });
    yield* rows.map(toReceipt);
  }
}

/** The columns that a filter asks for, in the form in which they were stored. */
function conditions({ sessionId, toolName, status, requestId }: ReceiptFilter): Partial<ReceiptRow> {
  return {
    ...(sessionId !== undefined && { sessionId: storableText(sessionId, RECEIPT_LENGTHS.sessionId) }),
    ...(toolName !== undefined && { toolName: storableText(toolName, RECEIPT_LENGTHS.toolName) }),
    ...(status !== undefined && { status }),
    ...(requestId !== undefined && { requestId: storableText(requestId, RECEIPT_LENGTHS.requestId) }),
  };
}

/** Largest value of a column of 32 bits. */
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * The row of a new receipt. Text of any kind becomes text that every database can store; text that is too long is cut.
 * Users are named as in sessions.
 */
function toRow(receipt: NewReceipt, origin: Pick<Receipt, 'id' | 'tenantId' | 'createdAt'>): ReceiptRow {
  const { idempotencyId, requestId, traceId } = receipt;
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
    startedAt: receipt.startedAt,
    requestId: requestId === null ? null : storableText(requestId, RECEIPT_LENGTHS.requestId),
    traceId: traceId === null ? null : storableText(traceId, RECEIPT_LENGTHS.traceId),
  };
}

/** The receipt of a row. */
export function toReceipt({ idempotencyKey: _key, ...row }: ReceiptRow): Receipt {
  return {
    ...row,
    input: JSON.parse(row.input),
    output: JSON.parse(row.output),
    status: row.status as ReceiptStatus,
    idempotencyId: row.idempotencyId === null ? null : JSON.parse(row.idempotencyId),
  };
}

/**
 * The key of an idempotency id in the unique index. A hash of its JSON text, in which lone halves of surrogate pairs
 * differ, too.
 */
function idempotencyKey(idempotencyId: string): string {
  return createHash('sha256').update(JSON.stringify(idempotencyId)).digest('hex');
}

/** The beginning of a text, never half a character, and `…` where something is left out. */
function shortened(text: string): string {
  if (text.length <= MAX_RECEIPT_TEXT) return text;
  return `${text.slice(0, MAX_RECEIPT_TEXT - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
