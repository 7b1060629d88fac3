import { type Logger, orAborted } from 'agent-gateway';
import { type ModelClient, ModelErrors } from '../../contract.ts';
import type { ConnectedModel } from './connect-model.ts';

/** The parts of a client whose key may change. */
interface KeyedClientParts {
  /** Returns the current key. Called for each call of the model, so it should cache. */
  readonly resolveKey: () => Promise<string>;
  readonly connect: (apiKey: string) => Promise<Pick<ConnectedModel, 'client' | 'close'>>;
  readonly log: Logger;
}

interface Keyed {
  readonly key: string;
  readonly connected: ReturnType<KeyedClientParts['connect']>;
  users: number;
  isRetired: boolean;
}

/**
 * A client that requests its key at each call, since it is in a plugin's store: the plugin may start later than the
 * model, and the key may change. With another key the provider is connected again; calls in flight end on the old
 * connection. Throws `model.key-unavailable` while there is no key.
 */
export function createKeyedClient({ resolveKey, connect, log }: KeyedClientParts): {
  readonly client: ModelClient;
  readonly close: () => Promise<void>;
} {
  let current: Keyed | undefined;

  /** The client for one call, until it is disposed of. */
  async function acquire(signal: AbortSignal): Promise<Disposable & { readonly client: ModelClient }> {
    let used: Keyed | undefined;
    try {
      const key = await orAborted(resolveKey(), signal);
      if (current?.key !== key) {
        retire(current);
        current = { key, connected: connect(key), users: 0, isRetired: false };
      }
      const keyed = current;
      used = keyed;
      used.users += 1;
      const { client } = await used.connected;
      return { client, [Symbol.dispose]: () => release(keyed) };
    } catch (cause) {
      if (used !== undefined) {
        // The provider's client does not take this key; the next call tries again.
        if (current === used) current = undefined;
        used.isRetired = true;
        release(used);
      }
      if (signal.aborted) throw ModelErrors.aborted(undefined, { cause });
      log.warn({ err: cause }, 'the key of a model cannot be had');
      throw ModelErrors.keyUnavailable(undefined, { cause });
    }
  }

  function retire(old: Keyed | undefined): void {
    if (old === undefined) return;
    old.isRetired = true;
    if (old.users === 0) closeAside(old);
  }

  function release(used: Keyed): void {
    used.users -= 1;
    if (used.isRetired && used.users === 0) closeAside(used);
  }

  /** Closes in the background. */
  function closeAside({ connected }: Keyed): void {
    connected
      .then(({ close }) => close())
      .catch((err: unknown) => log.debug({ err }, 'an old connection of a model did not close well'));
  }

  return {
    client: {
      async complete(request, context) {
        using keyed = await acquire(context.signal);
        return await keyed.client.complete(request, context);
      },
      async *stream(request, context) {
        using keyed = await acquire(context.signal);
        yield* keyed.client.stream(request, context);
      },
    },
    close: async () => {
      const open = await current?.connected.catch(() => undefined);
      await open?.close();
    },
  };
}
