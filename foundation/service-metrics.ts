import type { EgressObserver } from './egress/open-egress.ts';
import type { EventObserver } from './messages/events/event-observer.ts';
import type { PluginMetrics } from './observability/plugin-metrics.ts';

/** The metrics of the events. */
export function eventMetrics(metrics: PluginMetrics): EventObserver {
  const emitted = metrics.counter({
    name: 'svc_events_emitted_total',
    help: 'Events that this process emitted.',
  });
  const received = metrics.counter({
    name: 'svc_events_received_total',
    help: 'Events of other replicas that somebody listens to here.',
  });
  const dropped = metrics.counter({
    name: 'svc_events_dropped_total',
    help: 'Events that were lost, by reason: outgoing, backlog, unfit, malformed.',
    labels: ['reason'],
  });
  const connected = metrics.gauge({
    name: 'svc_events_connected',
    help: '1 while the connection to the other replicas stands.',
  });
  return {
    emitted: () => emitted.inc(),
    received: () => received.inc(),
    dropped: (reason, count) => dropped.inc({ reason }, count),
    connected: (isConnected) => connected.set(isConnected ? 1 : 0),
  };
}

/** The metrics of egress. */
export function egressMetrics(metrics: PluginMetrics): EgressObserver {
  const requests = metrics.counter({
    name: 'svc_egress_requests_total',
    help: 'Outbound requests to addresses that the operator did not choose, by what became of them.',
    labels: ['result'],
  });
  const denied = metrics.counter({
    name: 'svc_egress_denied_total',
    help: 'Outbound requests that were denied, by reason.',
    labels: ['reason'],
  });
  return {
    finished: (result) => requests.inc({ result }),
    denied: (reason) => denied.inc({ reason }),
  };
}
