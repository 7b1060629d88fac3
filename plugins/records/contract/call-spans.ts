import type { Clock } from 'agent-gateway';
import type { ReceiptStatus } from './receipts.ts';

/** Where a call of a model stands on the time line of its request. */
export interface CallSpan {
  /** Of the request that the call was made for; of an agent task of a workflow the key of its attempt. */
  readonly requestId: string;
  /** The W3C trace, 32 hexadecimal digits; null where there is none. */
  readonly traceId: string | null;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly status: ReceiptStatus;
}

/** The ids that the spans of a piece of work carry. */
interface SpanOwner {
  readonly requestId: string;
  /** W3C trace context headers. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Begins a span now; the result ends it, as a success. */
export function beginSpan(
  { requestId, traceHeaders }: SpanOwner,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => CallSpan {
  const startedAt = new Date(clock.now());
  const start = clock.monotonic();
  return () => ({
    requestId,
    traceId: traceIdOf(traceHeaders),
    startedAt,
    durationMs: Math.max(0, Math.round(clock.monotonic() - start)),
    status: 'success',
  });
}

/** The trace that W3C headers name; null where they name none. */
export function traceIdOf(traceHeaders: SpanOwner['traceHeaders']): string | null {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceHeaders?.traceparent ?? '')?.[1] ?? null;
}
