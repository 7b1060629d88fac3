import { ConfigurationError, lazy, type Scope } from 'agent-gateway';
import type { HubSettings } from '../config.ts';
import { readBackoff } from '../rules/schedule.ts';
import { hubMetrics } from './metrics.ts';
import { isUsed } from './open-database.ts';
import type { Experience, Hub } from './open-hub.ts';

/** What the hub does, loaded at the first use: a gateway that is neither hub nor node pays for none of it. */
export interface HubLoader {
  load(): Promise<Hub>;
  /** The hub where it is in use, or an earlier process has used it; else undefined. */
  inUse(): Promise<Hub | undefined>;
  /** Ends deliveries; those still in progress when `signal` aborts go back to their queues. */
  finish(signal: AbortSignal): Promise<void>;
  /** Ends what was loaded. */
  close(): Promise<void>;
}

/** Makes the loader. Throws a ConfigurationError, which stops the start, where the delays are not five durations. */
export function createHubLoader(scope: Scope<HubSettings>, experience: Experience): HubLoader {
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
    async inUse() {
      if (hub.begun !== undefined) return hub.begun;
      wasUsed ??= isNode || isUsed(services, settings.db_path);
      return wasUsed ? load() : undefined;
    },
    async finish(signal) {
      await (await hub.begun)?.dispatcher.finish(signal);
    },
    async close() {
      isClosed = true;
      await (await hub.begun)?.close();
    },
  };
}
