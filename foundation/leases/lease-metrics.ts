import { GatewayError } from '../base/gateway-error.ts';
import type { PluginMetrics } from '../observability/plugin-metrics.ts';
import { LeaseErrors } from './lease-request.ts';
import type { LeaseRefusal } from './leases.ts';

/** From an uncontended grant in memory to the default wait. */
const WAIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How a wait ended that brought no lease; anything else is `aborted`. */
const OUTCOMES: Readonly<Record<string, string>> = {
  [LeaseErrors.timeout.definition.code]: 'timeout',
  [LeaseErrors.tooManyWaiters.definition.code]: 'refused',
  [LeaseErrors.full.definition.code]: 'refused',
  [LeaseErrors.unavailable.definition.code]: 'unavailable',
};

/**
 * The metrics of the leases: those without a name count as locks, those with one as permits, which is how they are
 * used. Keys and names are no labels: they are without bound.
 */
export function leaseMetrics(metrics: PluginMetrics) {
  const wait = metrics.histogram({
    name: 'svc_lock_wait_seconds',
    help: 'Seconds that callers waited for a lease, by how the wait ended',
    labels: ['outcome'],
    buckets: WAIT_BUCKETS,
  });
  const refused = metrics.counter({
    name: 'svc_permit_refused_total',
    help: 'Leases that were refused because as many as may, or the same name, were held',
    labels: ['reason'],
  });
  const locks = {
    held: metrics.gauge({ name: 'svc_locks_held', help: 'Leases without a name that this process holds' }),
    lost: metrics.counter({
      name: 'svc_lock_lost_total',
      help: 'Leases without a name that were lost while they were held, because they could not be renewed',
    }),
  };
  const permits = {
    held: metrics.gauge({ name: 'svc_permits_held', help: 'Leases with a name that this process holds' }),
    lost: metrics.counter({
      name: 'svc_permit_lost_total',
      help: 'Leases with a name that were lost while they were held, because they could not be renewed',
    }),
  };
  const of = (isNamed: boolean) => (isNamed ? permits : locks);
  return {
    /** @param error what the wait ended with; absent: a lease */
    waited(error: unknown, seconds: number): void {
      if (LeaseErrors.full.is(error)) refused.inc({ reason: 'full' });
      wait.observe(
        { outcome: error === undefined ? 'acquired' : (OUTCOMES[codeOf(error)] ?? 'aborted') },
        seconds,
      );
    },
    refused: (reason: LeaseRefusal) => refused.inc({ reason }),
    held: (isNamed: boolean, change: 1 | -1) => of(isNamed).held.inc(change),
    lost: (isNamed: boolean) => of(isNamed).lost.inc(),
  };
}

/** The code of an error of the catalogue, else an empty text. */
export const codeOf = (error: unknown): string => (error instanceof GatewayError ? error.code : '');
