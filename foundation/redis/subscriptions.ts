import type { Redis as Client } from 'ioredis';
import type { RedisSubscriber } from './redis.ts';

/** Milliseconds between two questions whether the server is still there: channels may be silent for long. */
const PING_MS = 5_000;

/**
 * The channels that this process receives, over one socket that is opened for the first of them.
 *
 * @param connect opens a socket that reconnects by itself and subscribes to nothing on its own
 * @param refused called with the reason why the server did not subscribe
 */
export function createSubscriptions(connect: () => Client, refused: (reason: unknown) => void) {
  const subscribers = new Map<string, { readonly subscriber: RedisSubscriber; isHeard: boolean }>();
  let client: Client | undefined;
  let pings: NodeJS.Timeout | undefined;
  let isClosed = false;

  function open(): Client {
    const client = connect();
    let lastError: unknown;
    client.on('error', (error: unknown) => {
      lastError = error;
    });
    client.on('close', () => lost(lastError ?? new Error('Redis closed the connection')));
    client.on('ready', () => {
      lastError = undefined;
      for (const channel of subscribers.keys()) subscribe(client, channel);
    });
    client.on('message', (channel: string, text: string) => {
      subscribers.get(channel)?.subscriber.message(text);
    });
    pings = setInterval(() => {
      // A server that does not answer loses the connection; a channel that it refused may be allowed by now.
      if (client.status !== 'ready') return;
      client.ping().catch(() => undefined);
      for (const [channel, { isHeard }] of subscribers) if (!isHeard) subscribe(client, channel);
    }, PING_MS);
    pings.unref();
    return client;
  }

  function subscribe(client: Client, channel: string): void {
    const entry = subscribers.get(channel);
    client.subscribe(channel).then(
      () => {
        // Meanwhile the channel may have got another subscriber, for which it is subscribed again.
        if (entry === undefined || entry !== subscribers.get(channel)) return;
        if (entry.isHeard || client.status !== 'ready') return;
        entry.isHeard = true;
        entry.subscriber.subscribed?.();
      },
      (reason: unknown) => {
        if (client.status === 'ready' && !isClosed) refused(reason);
      },
    );
  }

  function lost(reason: unknown): void {
    for (const entry of subscribers.values()) {
      if (!entry.isHeard) continue;
      entry.isHeard = false;
      if (!isClosed) entry.subscriber.lost?.(reason);
    }
  }

  return {
    add(channel: string, subscriber: RedisSubscriber): () => void {
      if (subscribers.has(channel)) throw new Error(`the channel ${channel} has a subscriber already`);
      subscribers.set(channel, { subscriber, isHeard: false });
      if (isClosed) return () => undefined;
      client ??= open();
      if (client.status === 'ready') subscribe(client, channel);
      return () => {
        if (subscribers.get(channel)?.subscriber !== subscriber) return;
        subscribers.delete(channel);
        if (client?.status === 'ready') client.unsubscribe(channel).catch(() => undefined);
      };
    },

    close(): void {
      isClosed = true;
      clearInterval(pings);
      client?.disconnect();
    },
  };
}
