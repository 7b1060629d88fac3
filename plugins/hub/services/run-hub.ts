import type { Scope } from 'agent-gateway';
import type { HubSettings } from '../config.ts';
import { AnnounceGene } from './announcements.ts';
import type { HubLoader } from './load-hub.ts';
import { LOOK_EVERY_MS } from './membership.ts';

/** Milliseconds between two searches for due deliveries, including those that other replicas have left. */
const SWEEP_MS = 1_000;
const EXPIRY_MS = 600_000;

/** Starts the background work of the hub, which runs for as long as the plugin lives. */
export function runHub(
  scope: Pick<Scope<HubSettings>, 'services' | 'config' | 'log' | 'every' | 'worker' | 'drain' | 'defer'>,
  hub: HubLoader,
  isNode: boolean,
): void {
  const { services, config, log } = scope;
  scope.every('deliveries', SWEEP_MS, async () => (await hub.inUse())?.dispatcher.sweep(), {
    immediately: true,
  });
  scope.every('expiry', EXPIRY_MS, async (signal) => (await hub.inUse())?.expire(signal));
  scope.worker(AnnounceGene, async (announcement, context) => {
    await (await hub.load()).announcements?.announce(announcement, context);
  });
  scope.drain('deliveries', hub.finish);
  // Open dashboards would delay the stop for the whole drain time; their pages connect again.
  scope.drain('dashboards', hub.closeDashboards);
  scope.defer(hub.close);
  if (!isNode) return;
  if (config.public_url === undefined) {
    log.warn('this gateway is no node of the hubs in EVOLUTION_HUB_URL: SAAS_PUBLIC_URL is not set');
    return;
  }
  // One replica acts as the node. With SQLite there is only one process, which need not wait until a lease of an
  // earlier process expires.
  const replicas = services.database.family === 'sqlite' ? 'all' : 'one';
  const options = { immediately: true, replicas } as const;
  scope.every(
    'membership',
    LOOK_EVERY_MS,
    async (signal) => (await hub.load()).membership?.keep(signal),
    options,
  );
}
