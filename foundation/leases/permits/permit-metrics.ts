import type { PluginMetrics } from '../../observability/plugin-metrics.ts';
import type { PermitRefusal } from './permits.ts';

/** Hears what the permits do. Keys and names are not told: they are without bound. */
export interface PermitObserver {
  /** One more permit is held here, or one less. */
  held(change: 1 | -1): void;
  /** Somebody got no permit. */
  refused(why: PermitRefusal): void;
  /** A permit was lost while it was held. */
  lost(): void;
}

/** For permits that nobody observes. */
export const unobserved: PermitObserver = { held() {}, refused() {}, lost() {} };

/** The metrics of the permits. */
export function permitMetrics(metrics: PluginMetrics): PermitObserver {
  const held = metrics.gauge({ name: 'svc_permits_held', help: 'Permits that this process holds' });
  const refused = metrics.counter({
    name: 'svc_permit_refused_total',
    help: 'Permits that were refused because all places, or that of the same name, were taken',
    labels: ['reason'],
  });
  const lost = metrics.counter({
    name: 'svc_permit_lost_total',
    help: 'Permits that were lost while they were held, because their lease could not be renewed',
  });
  return {
    held: (change) => held.inc(change),
    refused: (reason) => refused.inc({ reason }),
    lost: () => lost.inc(),
  };
}
