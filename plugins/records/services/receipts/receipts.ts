import { type Clock, type Ids, isUniqueViolation } from 'agent-gateway';
import { ReceiptErrors, type ReceiptFilter, type Receipts } from '../../contract.ts';
import {
  findReceipt,
  findReceipts,
  insertReceipt,
  RECEIPT_LENGTHS,
  type ReceiptRow,
} from '../../store/receipts/execution-receipt.ts';
import { storableText } from '../../store/usage/storable-text.ts';
import { idempotencyKey, toReceipt, toRow } from './receipt-row.ts';

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Times that a receipt is looked for after its idempotency id was taken: in between an erasure may have taken it away. */
const ATTEMPTS = 3;

/** Makes the receipts (specification 1, Execution receipt). */
export function createReceipts({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }): Receipts {
  return {
    async submit(entities, receipt) {
      const createdAt = new Date(clock.now());
      const row = toRow(receipt, { id: ids.uuid(), tenantId: entities.tenantId, createdAt });
      for (let attempt = 1; ; attempt += 1) {
        try {
          await insertReceipt(entities, row);
          return toReceipt(row);
        } catch (error) {
          // The unique key decides between retries that come at the same time; whoever loses finds the winner's.
          if (row.idempotencyKey === null || !isUniqueViolation(error)) throw error;
          const existing = await findReceipt(entities, { idempotencyKey: row.idempotencyKey });
          if (existing !== null) return toReceipt(existing);
          if (attempt === ATTEMPTS) throw error;
        }
      }
    },
    async findByIdempotencyId(entities, idempotencyId) {
      const row = await findReceipt(entities, { idempotencyKey: idempotencyKey(idempotencyId) });
      return row === null ? undefined : toReceipt(row);
    },
    async list(entities, filter, page) {
      const [rows, total] = await findReceipts(entities, conditions(filter), page);
      return { receipts: rows.map(toReceipt), total };
    },
    async get(entities, id) {
      const row = ID.test(id) ? await findReceipt(entities, { id }) : null;
      if (row === null) throw ReceiptErrors.notFound();
      return toReceipt(row);
    },
  };
}

/** The columns that a filter asks for, in the form in which they were stored. */
function conditions({ sessionId, toolName, status }: ReceiptFilter): Partial<ReceiptRow> {
  return {
    ...(sessionId !== undefined && { sessionId: storableText(sessionId, RECEIPT_LENGTHS.sessionId) }),
    ...(toolName !== undefined && { toolName: storableText(toolName, RECEIPT_LENGTHS.toolName) }),
    ...(status !== undefined && { status }),
  };
}
