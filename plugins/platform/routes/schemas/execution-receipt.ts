import { pageQuery } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import type { Receipt, ReceiptFilter } from '../../../records/contract.ts';
import { nullable, Timestamp, toTimestamp } from './common.ts';

const Status = Type.Enum(['success', 'error', 'timeout']);
// No database keeps NUL in text, and some refuse to look for it.
const Exactly = Type.String({
  maxLength: 128,
  pattern: '^[^\\u0000]*$',
  patternErrorMessage: 'must not hold the character U+0000',
});

/** Which receipts are asked for (specification 1, Execution receipts). */
export const ReceiptQuery = Type.Object({
  ...pageQuery({ defaultLimit: 50 }).properties,
  session_id: Type.Optional(Exactly),
  tool_name: Type.Optional(Exactly),
  status: Type.Optional(Status),
});

/** A receipt as it is told. */
export const ExecutionReceipt = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  session_id: Type.String({ description: 'Empty for work outside a session' }),
  user_id: Type.String(),
  tool_name: Type.String(),
  input: Type.String({ description: 'Serialized, redacted; very long ones are cut' }),
  output: Type.String({ description: 'Serialized, redacted; very long ones are cut' }),
  status: Status,
  duration_ms: Type.Integer(),
  idempotency_id: nullable(Type.String()),
  trace_id: nullable(Type.String()),
  created_at: Timestamp,
});

/** The filter in a query. */
export function toReceiptFilter(query: Static<typeof ReceiptQuery>): ReceiptFilter {
  return { sessionId: query.session_id, toolName: query.tool_name, status: query.status };
}

/** A receipt on the wire. */
export function toExecutionReceipt(receipt: Receipt): Static<typeof ExecutionReceipt> {
  return {
    id: receipt.id,
    tenant_id: receipt.tenantId,
    session_id: receipt.sessionId,
    user_id: receipt.userId,
    tool_name: receipt.toolName,
    input: receipt.input,
    output: receipt.output,
    status: receipt.status,
    duration_ms: receipt.durationMs,
    idempotency_id: receipt.idempotencyId,
    trace_id: receipt.traceId,
    created_at: toTimestamp(receipt.createdAt),
  };
}
