import type { KernelServices } from 'agent-gateway';
import type { ChannelsSettings } from '../config.ts';
import type { Addresses } from './addresses.ts';
import { type Apps, createApps } from './apps.ts';
import { type Bindings, createBindings } from './bindings.ts';
import { type Counted, createLogins, type Logins } from './logins.ts';
import { createProviders } from './providers/providers.ts';
import { createSessions, type Sessions } from './sessions.ts';

/** All that channels do. */
export interface Channels {
  readonly apps: Apps;
  readonly bindings: Bindings;
  readonly logins: Logins;
  readonly sessions: Sessions;
  /** Aborts the calls to providers that are in progress. */
  close(): Promise<void>;
}

/** Puts the parts together. */
export function openChannels(given: {
  readonly services: KernelServices;
  readonly config: ChannelsSettings;
  readonly origins: Addresses['origins'];
  readonly publicUrl: string | undefined;
  readonly counted: Counted;
}): Channels {
  const { services, config, publicUrl, counted } = given;
  const sessions = createSessions(services);
  const providers = createProviders(given.origins);
  const parts = { ...services, providers, ended: sessions.ended };
  const apps = createApps(parts);
  return {
    apps,
    bindings: createBindings(parts),
    logins: createLogins({
      ...services,
      apps,
      providers,
      publicUrl,
      counted,
      hashSecret: config.hash_secret,
    }),
    sessions,
    close: providers.close,
  };
}
