import { type Clock, isFaultOfReceiver, parseRetryAfter, readAnswer } from 'agent-gateway';
import { reporterOf } from '../rules/hub-gene.ts';
import { type EventRow, REASON_LENGTH, type SubscriptionRow } from '../store/tables.ts';
import type { Keys } from './keys.ts';
import type { SendSigned } from './requests.ts';

/** Milliseconds that a subscriber has for one attempt. */
const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are read and discarded, so that its connection can be reused. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The outcome of an attempt. */
export interface Sent {
  /** A sentence of at most `REASON_LENGTH` characters; null for a success, which is every 2xx. */
  readonly error: string | null;
  /** The milliseconds of the subscriber's `Retry-After`. */
  readonly retryAfterMs: number;
}

/** Sends an event to a subscriber, once. Throws the reason of `signal`, and the gateway's own errors. */
export type SendEvent = (
  subscription: SubscriptionRow,
  delivery: { readonly id: string; readonly attempt: number },
  event: EventRow,
  signal: AbortSignal,
) => Promise<Sent>;

export function createSendEvent(parts: {
  readonly send: SendSigned;
  readonly keys: Pick<Keys, 'current'>;
  readonly clock: Pick<Clock, 'now'>;
}): SendEvent {
  const { send, keys, clock } = parts;
  return async (subscription, { id, attempt }, { type, gene, nodeId, stillPromoted, createdAt }, signal) => {
    const body = JSON.stringify({
      id,
      type,
      gene,
      ...(type === 'gene_revoked' && { still_promoted: stillPromoted?.split(',') ?? [] }),
      node_id: reporterOf(gene, nodeId),
      occurred_at: createdAt.toISOString(),
      attempt,
      subscription_id: subscription.id,
    });
    const key = await keys.current(subscription.signingKeyId);
    try {
      const {
        status,
        headers,
        body: answer,
      } = await send({
        url: new URL(subscription.callbackUrl),
        method: 'POST',
        body,
        key,
        signal,
        timeout: TIMEOUT_MS,
        // The bound is below, so that an answer that announces a longer body still has its status.
        maxBytes: Number.POSITIVE_INFINITY,
        account: `hub/subscription/${subscription.id}`,
      });
      // The status decides: a failure while the body is read is ignored.
      await readAnswer(answer, MAX_ANSWER_BYTES, 'the answer').catch(() => {});
      if (status >= 200 && status < 300) return { error: null, retryAfterMs: 0 };
      const retryAfterMs = parseRetryAfter(headers['retry-after'], clock.now()) ?? 0;
      return { error: `The subscriber answered ${status}.`, retryAfterMs };
    } catch (error) {
      signal.throwIfAborted();
      if (!isFaultOfReceiver(error)) throw error;
      return { error: error.message.slice(0, REASON_LENGTH), retryAfterMs: 0 };
    }
  };
}
