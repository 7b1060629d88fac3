import { defineErrors, type Page, serviceRef, type TenantEntityManager } from 'agent-gateway';

/** Characters of a receipt's input, and of its output, at most; what is longer is cut and ends with `…`. */
export const MAX_RECEIPT_TEXT = 65_536;

/** How a tool ended. */
export type ReceiptStatus = 'success' | 'error' | 'timeout';

/** The immutable record of one tool execution (specification 1, Execution receipt). */
export interface Receipt {
  readonly id: string;
  readonly tenantId: string;
  /** Empty where the work belongs to no session. */
  readonly sessionId: string;
  readonly userId: string;
  readonly toolName: string;
  /** Serialized and redacted; cut at `MAX_RECEIPT_TEXT` characters, like the output. */
  readonly input: string;
  readonly output: string;
  readonly status: ReceiptStatus;
  readonly durationMs: number;
  /** Null in receipts that were written before this was kept. */
  readonly startedAt: Date | null;
  readonly idempotencyId: string | null;
  /**
   * Of the request that the tool was run for; of an agent task of a workflow the key of its attempt. Null like
   * `startedAt`.
   */
  readonly requestId: string | null;
  readonly traceId: string | null;
  readonly createdAt: Date;
}

/** What is written; id, tenant and time are added. */
export type NewReceipt = Omit<Receipt, 'id' | 'tenantId' | 'createdAt'>;

/** Which receipts. All that is given has to match, exactly; `q` is a part of id, tool, session or user. */
export interface ReceiptFilter {
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly requestId?: string | undefined;
  readonly status?: ReceiptStatus | undefined;
  readonly q?: string | undefined;
}

/** Receipts of tool executions, by tenant. */
export interface Receipts {
  /**
   * Writes a receipt. Where the tenant has one with the same idempotency id, that one is returned and nothing is
   * written, also when retries come at the same time. Not inside a transaction.
   */
  submit(entities: TenantEntityManager, receipt: NewReceipt): Promise<Receipt>;
  /** The receipt of an idempotency id. */
  findByIdempotencyId(entities: TenantEntityManager, idempotencyId: string): Promise<Receipt | undefined>;
  /** Newest first. They are read while they are taken, since a page of long ones may have hundreds of MiB. */
  list(
    entities: TenantEntityManager,
    filter: ReceiptFilter,
    page: Page,
  ): Promise<{ readonly receipts: AsyncIterable<Receipt>; readonly total: number }>;
  /** Throws `receipt.not-found`, for another tenant's id too. */
  get(entities: TenantEntityManager, id: string): Promise<Receipt>;
}

/** What can go wrong with receipts. */
export const ReceiptErrors = defineErrors({
  notFound: { code: 'receipt.not-found', kind: 'not-found', title: 'There is no such execution receipt' },
});

/** The receipts of the deployment. */
export const ReceiptsRef = serviceRef<Receipts>('records.receipts');
