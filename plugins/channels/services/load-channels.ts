import { lazy, type Scope } from 'agent-gateway';
import type { ChannelsSettings } from '../config.ts';
import { addressesOf } from './addresses.ts';
import type { Counted } from './logins.ts';
import type { Channels } from './open-channels.ts';
import type { KnownSession } from './sessions.ts';

/** Milliseconds between two removals of expired rows. An expired row is ignored even before it is removed. */
export const EXPIRY_EVERY_MS = 10 * 60_000;

/**
 * What channels do, loaded at the first use: a gateway without channels pays for none of it. Throws a
 * ConfigurationError, which stops the start, for an address that cannot be used.
 */
export function createLoader(scope: Scope<ChannelsSettings>) {
  const { services, config } = scope;
  const addresses = addressesOf(config);
  if (config.hash_secret !== undefined && config.cookie_secure && isInsecure(addresses.publicUrl)) {
    scope.log.warn(
      { SAAS_PUBLIC_URL: addresses.publicUrl },
      'no login can succeed: browsers keep no secure cookies of an http address; serve it over https, or try it out with SAAS_COOKIE_SECURE=false',
    );
  }
  const logins = scope.metric.counter({
    name: 'svc_channel_logins_total',
    help: 'Logins through channels that came back from the provider',
    labels: ['platform', 'result'],
  });
  let loaded: Channels | undefined;
  const channels = lazy(async () => {
    const { openChannels } = await import('./open-channels.ts');
    const counted: Counted = (platform, result) => logins.inc({ platform, result });
    loaded = openChannels({ services, config, ...addresses, counted });
    return loaded;
  });

  return {
    /** `undefined` until it was used. */
    get loaded() {
      return loaded;
    },
    load: channels.get,
    /** The cookie session of a token by its hash; returned without a promise when it is cached. */
    findSession: (tokenHash: string): KnownSession | undefined | Promise<KnownSession | undefined> =>
      loaded === undefined
        ? channels.get().then(({ sessions }) => sessions.find(tokenHash))
        : loaded.sessions.find(tokenHash),
    /** Removes expired rows. */
    async removeExpired(signal: AbortSignal): Promise<void> {
      const { deleteExpired } = await import('../store/logins.ts');
      const { database } = services;
      await deleteExpired(database, new Date(database.clock.now()), signal);
    },
    /** Ends what was loaded. */
    close: async () => (await channels.begun)?.close(),
  };
}

/** True for an address whose secure cookies browsers do not keep. Of this very machine they do. */
function isInsecure(publicUrl: string | undefined): boolean {
  if (publicUrl === undefined) return false;
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'http:' && !/^(?:(?:.+\.)?localhost|127\..+|\[::1\])$/.test(hostname);
}
