import { finished } from 'node:stream/promises';
import {
  type Clock,
  type Egress,
  EgressErrors,
  GatewayError,
  parseRetryAfter,
  type Seal,
  SecretErrors,
} from 'agent-gateway';
import { Webhook } from 'standardwebhooks';
import type { StoredWebhook } from '../../store/webhooks.ts';

/** Milliseconds that one attempt may take. */
const TIMEOUT_MS = 10_000;
/** Bytes of an answer that are read, and thrown away, so that its connection can be kept. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** What the receiver, its address or its secret is the reason of: an attempt that failed. All else is the gateway's own trouble. */
const FAILURES: ReadonlySet<string> = new Set(
  [
    EgressErrors.denied,
    EgressErrors.malformed,
    EgressErrors.unreachable,
    EgressErrors.timeout,
    EgressErrors.tooLarge,
    SecretErrors.sealed,
  ].map(({ definition }) => definition.code),
);

/** An event as it is sent. */
export interface Message {
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
}

/** What became of an attempt. */
export interface Sent {
  /** Null where there was no answer. */
  readonly statusCode: number | null;
  /** A sentence; null for a success, which is every 2xx. */
  readonly error: string | null;
  readonly durationMs: number;
  /** Milliseconds for which the receiver asked. */
  readonly retryAfterMs: number;
  /** The receiver wants no more (410). */
  readonly isGone: boolean;
}

interface SendParts {
  readonly egress: Pick<Egress, 'request'>;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly version: string;
}

/** Where the secrets of a webhook belong. */
export const sealPlace = (tenantId: string, webhookId: string) => `webhook/${tenantId}/${webhookId}`;

/**
 * Makes what sends an event to a webhook, once, signed as Standard Webhooks describe it (standardwebhooks.com), also with the secret before for as long
 * as that is valid. Redirects are not followed. Throws
 * the reason of `signal`, and what is the gateway's own trouble: `egress.busy`, `lookup.unavailable`.
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
      .map((stored) => new Webhook(seal.open(stored, sealPlace(tenantId, id))).sign(eventId, at, body))
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
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
    // The status has said it all: whatever becomes of the rest is no matter.
    await finished(answer.body.resume()).catch(() => {});
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
    const nothing = { retryAfterMs: 0, isGone: false };
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
      };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GatewayError) || !FAILURES.has(error.code)) throw error;
      return { statusCode: null, error: error.message, durationMs: duration(), ...nothing };
    }
  };
}

export type Send = ReturnType<typeof createSend>;
