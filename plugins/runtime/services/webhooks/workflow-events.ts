import type { EventSink } from '../../../workflow/contract.ts';
import type { WebhookEvents } from './webhook-events.ts';

/** Events that are published in one commit. */
const BATCH = 100;

/**
 * Publishes the events of workflow runs (decisions 2.7). An event that the workflow plugin delivers again has the same
 * `webhook-id`.
 */
export function workflowEventSink(events: Pick<WebhookEvents, 'emit' | 'mayHear'>): EventSink {
  return {
    name: 'runtime-webhooks',
    wants: events.mayHear,
    async deliver(delivered, signal) {
      const [first] = delivered;
      if (first === undefined) return;
      const published = delivered.map(({ tenant_id: _, type, created_at, ...data }) => ({
        type: `workflow.${type}` as const,
        data,
        id: `${data.run_id}-${data.seq}`,
        at: new Date(created_at),
      }));
      // All of one run, and so of one tenant.
      for (let from = 0; from < published.length; from += BATCH) {
        signal.throwIfAborted();
        await events.emit(first.tenant_id, ...published.slice(from, from + BATCH));
      }
    },
  };
}
