import {
  type Clock,
  type Egress,
  isFaultOfReceiver,
  parseRetryAfter,
  readAnswer,
  type Seal,
  SecretErrors,
} from 'agent-gateway';
import { Webhook } from 'standardwebhooks';
import type { StoredWebhook } from '../../store/webhooks.ts';

/** Milliseconds that one attempt may take. */
const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are read and discarded, so that its connection can be reused. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** An event as it is sent. */
export interface Message {
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
}

/** The outcome of an attempt. */
export interface Sent {
  /** Null where there was no answer. */
  readonly statusCode: number | null;
  /** A sentence; null for a success, which is every 2xx. */
  readonly error: string | null;
  readonly durationMs: number;
  /** The milliseconds of the receiver's `Retry-After`. */
  readonly retryAfterMs: number;
  /** The receiver wants no more (410). */
  readonly isGone: boolean;
  /** Nothing was sent: this process has another `SVC_SECRET_KEY` than the one that sealed the secret. */
  readonly isSealed: boolean;
}

interface SendParts {
  readonly egress: Pick<Egress, 'request'>;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly version: string;
}

/** The context to which the sealed secrets of a webhook are bound. */
export const sealPlace = (tenantId: string, webhookId: string) => `webhook/${tenantId}/${webhookId}`;

/** The secrets in one stored text: after several rotations the previous ones are kept together. Pure. */
export const secretsIn = (text: string): readonly string[] => text.split(' ');

/**
 * Makes the function that sends an event to a webhook, once, signed as in Standard Webhooks (standardwebhooks.com),
 * also with the previous secrets for as long as they are valid. Redirects are not followed. Throws the reason of
 * `signal`, and the gateway's own errors: `egress.busy`, `lookup.unavailable`.
 */
export function createSend({ egress, seal, clock, version }: SendParts) {
  function signatures(
    tenantId: string,
    webhook: StoredWebhook,
    { eventId, body }: Message,
    at: Date,
  ): string {
    const { id, secret, previousSecret, previousUntil } = webhook;
    const isValid = previousSecret !== null && (previousUntil ?? 0) > at.getTime();
    return [secret, ...(isValid ? [previousSecret] : [])]
      .flatMap((stored) => secretsIn(seal.open(stored, sealPlace(tenantId, id))))
      .map((one) => new Webhook(one).sign(eventId, at, body))
      .join(' ');
  }

  async function post(tenantId: string, webhook: StoredWebhook, message: Message, signal: AbortSignal) {
    const at = new Date(clock.now());
    const answer = await egress.request(tenantId, {
      url: webhook.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': `agent-gateway/${version}`,
        'webhook-id': message.eventId,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signatures(tenantId, webhook, message, at),
      },
      body: message.body,
      redirect: 'manual',
      timeout: TIMEOUT_MS,
      // The bound is below, so that an answer that announces a longer body still has its status.
      maxBytes: Number.POSITIVE_INFINITY,
      signal,
    });
    // The status decides: a failure while the body is read is ignored.
    await readAnswer(answer.body, MAX_ANSWER_BYTES, 'the answer').catch(() => {});
    return answer;
  }

  return async (
    tenantId: string,
    webhook: StoredWebhook,
    message: Message,
    signal: AbortSignal,
  ): Promise<Sent> => {
    const began = clock.monotonic();
    const duration = () => Math.round(clock.monotonic() - began);
    try {
      const { status, headers } = await post(tenantId, webhook, message, signal);
      const isDelivered = status >= 200 && status < 300;
      const asked = isDelivered ? 0 : (parseRetryAfter(headers['retry-after'], clock.now()) ?? 0);
      const error = isDelivered ? null : `The receiver answered ${status}.`;
      return {
        statusCode: status,
        error,
        durationMs: duration(),
        retryAfterMs: asked,
        isGone: status === 410,
        isSealed: false,
      };
    } catch (error) {
      signal.throwIfAborted();
      if (!isFaultOfReceiver(error) && !SecretErrors.sealed.is(error)) throw error;
      return {
        statusCode: null,
        error: error.message,
        durationMs: duration(),
        retryAfterMs: 0,
        isGone: false,
        isSealed: SecretErrors.sealed.is(error),
      };
    }
  };
}

export type Send = ReturnType<typeof createSend>;
