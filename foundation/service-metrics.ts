import type { EgressObserver } from './egress/open-egress.ts';
import type { PluginMetrics } from './observability/plugin-metrics.ts';

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
