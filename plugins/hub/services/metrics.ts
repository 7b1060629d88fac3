import type { PluginMetrics } from 'agent-gateway';
import type { HubEvent } from '../contract.ts';
import type { AttemptResult } from './dispatcher.ts';

export type HubMetrics = ReturnType<typeof hubMetrics>;

/** What the hub counts. */
export function hubMetrics(metric: PluginMetrics) {
  const events = metric.counter<'type'>({
    name: 'hub_events_total',
    help: 'Events of nodes that the hub has accepted.',
    labels: ['type'],
  });
  const attempts = metric.counter<'result'>({
    name: 'hub_delivery_attempts_total',
    help: 'Attempts to deliver an event to a subscriber, by what became of it: delivered, retried, dead.',
    labels: ['result'],
  });
  const calls = metric.counter<'result'>({
    name: 'hub_node_calls_total',
    help: 'Nodes that were asked for genes, by whether they answered in time and in form.',
    labels: ['result'],
  });
  return {
    event: (type: HubEvent) => events.inc({ type }),
    attempt: (result: AttemptResult) => attempts.inc({ result }),
    call: (result: 'answered' | 'failed') => calls.inc({ result }),
  };
}
