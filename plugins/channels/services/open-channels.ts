import type { KernelServices } from 'agent-gateway';
import type { ChannelsSettings } from '../config.ts';
import type { Addresses } from './addresses.ts';
import { createApps } from './apps.ts';
import { createBindings } from './bindings.ts';
import { type Counted, createLogins } from './logins.ts';
import { createProviders } from './providers/providers.ts';
import { createSessions } from './sessions.ts';

/** All that channels do. */
export type Channels = ReturnType<typeof openChannels>;

/** Puts the parts together. */
export function openChannels(given: {
  readonly services: KernelServices;
  readonly config: ChannelsSettings;
  readonly origins: Addresses['origins'];
  readonly publicUrl: string | undefined;
  readonly counted: Counted;
}) {
  const { services, config, publicUrl, counted } = given;
  const sessions = createSessions(services);
  const providers = createProviders(given.origins);
  const { clock } = services.database;
  const parts = { ...services, providers, ended: sessions.ended };
  const apps = createApps(parts);
  return {
    apps,
    bindings: createBindings(parts),
    logins: createLogins({
      ...services,
      clock,
      apps,
      providers,
      publicUrl,
      counted,
      hashSecret: config.hash_secret,
    }),
    sessions,
    /** Aborts the calls to providers that are in progress. */
    close: providers.close,
  };
}
