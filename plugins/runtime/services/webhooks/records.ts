import type { StoredLog, StoredWebhook } from '../../store/webhooks.ts';

/** A webhook on the wire (decisions 3.2), without its secret. */
export function webhookRecord({ id, url, events, active, description, createdAt }: StoredWebhook) {
  return {
    id,
    url,
    events,
    active,
    description,
    created_at: new Date(createdAt).toISOString(),
  };
}

/** An attempt on the wire (decisions 3.2). */
export function logRecord(log: StoredLog) {
  return {
    id: log.id,
    event_id: log.eventId,
    event_type: log.eventType,
    status_code: log.statusCode,
    attempt: log.attempt,
    duration_ms: log.durationMs,
    error: log.error,
    delivered_at: new Date(log.deliveredAt).toISOString(),
  };
}
