import { ConfigurationError, lazy, type Scope } from 'agent-gateway';
import type { HubSettings } from '../config.ts';
import { readBackoff } from '../rules/schedule.ts';
import { hubMetrics } from './metrics.ts';
import { isUsed } from './open-database.ts';
import type { Experience, Hub } from './open-hub.ts';

export type HubLoader = ReturnType<typeof createHubLoader>;

/**
 * What the hub does, loaded at the first use: a gateway that is neither hub nor node pays for none of it. Throws a
 * ConfigurationError, which stops the start, where the delays are not five durations.
 */
export function createHubLoader(scope: Scope<HubSettings>, experience: Experience) {
  const { services, config: settings, log } = scope;
  const backoff = readBackoff(settings.delivery_backoff);
  if (backoff === undefined)
    throw new ConfigurationError([
      {
        name: 'HUB_DELIVERY_BACKOFF',
        message: 'must be five durations of up to a day, write 1s,5s,30s,2m,10m',
      },
    ]);
  const metrics = hubMetrics(scope.metric);
  const isNode = (experience.addresses?.hubs.length ?? 0) > 0;
  let wasUsed: boolean | undefined;
  let isClosed = false;

  const hub = lazy(async () => {
    const { openHub } = await import('./open-hub.ts');
    return openHub({ services, settings, backoff, experience, metrics, log });
  });

  const load = async () => {
    if (isClosed) throw new Error('the hub is closed');
    return hub.get();
  };

  return {
    load,
    /** The hub where it is in use, or an earlier process has used it; else undefined. */
    async inUse(): Promise<Hub | undefined> {
      if (hub.begun !== undefined) return hub.begun;
      wasUsed ??= isNode || isUsed(services, settings.db_path);
      return wasUsed ? load() : undefined;
    },
    /** Ends deliveries; those still in progress when `signal` aborts go back to their queues. */
    async finish(signal: AbortSignal): Promise<void> {
      await (await hub.begun)?.dispatcher.finish(signal);
    },
    /** Ends the streams of dashboards. */
    async closeDashboards(): Promise<void> {
      (await hub.begun)?.snapshots.close();
    },
    /** Ends what was loaded. */
    async close(): Promise<void> {
      isClosed = true;
      await (await hub.begun)?.close();
    },
  };
}
