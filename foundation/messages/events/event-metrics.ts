import type { PluginMetrics } from '../../observability/plugin-metrics.ts';

/**
 * Why an event was dropped:
 * - `outgoing`: the buffer was full, the connection broke while it was sent, or the server refused it
 * - `backlog`: a listener of this process fell behind
 * - `unfit`: a payload from another replica did not fit the listener's schema
 * - `malformed`: a message on the channel was none of ours, or of a version that is not known here
 */
export type EventLoss = 'outgoing' | 'backlog' | 'unfit' | 'malformed';

export type EventMetrics = ReturnType<typeof createEventMetrics>;

export function createEventMetrics(metrics: PluginMetrics) {
  const dropped = metrics.counter({
    name: 'svc_events_dropped_total',
    help: 'Events that were lost, by reason: outgoing, backlog, unfit, malformed.',
    labels: ['reason'],
  });
  // The first event that is lost is an increase to Prometheus only where there was a 0 before.
  const reasons: readonly EventLoss[] = ['outgoing', 'backlog', 'unfit', 'malformed'];
  for (const reason of reasons) dropped.inc({ reason }, 0);
  return {
    emitted: metrics.counter({ name: 'svc_events_emitted_total', help: 'Events that this process emitted.' }),
    received: metrics.counter({
      name: 'svc_events_received_total',
      help: 'Events of other replicas that have a listener here.',
    }),
    connected: metrics.gauge({
      name: 'svc_events_connected',
      help: '1 while the connection to the other replicas stands.',
    }),
    dropped: (reason: EventLoss, count: number) => dropped.inc({ reason }, count),
  };
}
